# Benchmarks of the family of binary-weight machines.
kiln_bench(binary_tables_bench kiln_binary kiln_execute benchmark::benchmark)
kiln_bench(binary_tables kiln_binary)
