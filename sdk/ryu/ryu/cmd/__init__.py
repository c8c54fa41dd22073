"""Commands of Ryu, for programs that start them by import."""
