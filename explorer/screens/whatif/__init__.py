"""What-if: the cost model on one configuration, its terms to be changed."""
