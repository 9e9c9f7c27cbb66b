"""Small dense kernels, block operators and iterative linear algebra; knows no physics."""
