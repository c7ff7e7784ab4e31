"""What the room of the gallery has for others."""

from .page import write_page as write_page
