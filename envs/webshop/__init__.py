"""WebShop: an online shop to buy what somebody asked for."""

from envs.webshop.goals import Goal
from envs.webshop.products import Product
from envs.webshop.shop import WebShop
from envs.webshop.stock import Stock

__all__ = ["Goal", "Product", "Stock", "WebShop"]
