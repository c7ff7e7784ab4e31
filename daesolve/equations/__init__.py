"""The one form that every system becomes, its consistent states, and its rank."""
