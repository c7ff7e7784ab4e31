"""The common form of all systems, its consistent states, and its rank."""
