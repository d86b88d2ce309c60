# Benchmarks of the family of binary-weight machines.
kiln_bench(binary_tables_bench kiln_binary kiln_execute benchmark::benchmark)
kiln_bench(binary_tables kiln_binary)
# Benchmarks of the binary family.
kiln_bench(binary_random_programs kiln_binary CLI11::CLI11)
target_sources(binary_random_programs PRIVATE
  ${PROJECT_SOURCE_DIR}/tests/targets/binary/simulate/random_program.cc)
target_include_directories(binary_random_programs PRIVATE ${PROJECT_SOURCE_DIR})
