"""RADOS Gateways: the daemons, the front before them, Keystone behind them, their users."""
