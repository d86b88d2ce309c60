# Benchmarks of the systolic family.
kiln_bench(level_speed_bench kiln_systolic kiln_frontend kiln_bench_networks kiln_bench_peak)

kiln_bench(systolic_random_programs kiln_systolic CLI11::CLI11)
target_sources(systolic_random_programs
  PRIVATE ${PROJECT_SOURCE_DIR}/tests/targets/systolic/agreement.cc
  ${PROJECT_SOURCE_DIR}/tests/targets/systolic/random_instruction.cc
  ${PROJECT_SOURCE_DIR}/tests/targets/systolic/random_program.cc)
target_include_directories(systolic_random_programs PRIVATE ${PROJECT_SOURCE_DIR})
