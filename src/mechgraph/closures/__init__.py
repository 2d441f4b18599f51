"""From M u̇ = f + Aᵀλ and A u̇ + b = 0 to u̇ and λ: on numbers, on expressions, and sparse."""
