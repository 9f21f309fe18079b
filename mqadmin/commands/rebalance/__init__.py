"""Commands whose first word is ``rebalance``; one file each."""
