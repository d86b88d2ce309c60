# Fuzz targets of the systolic family.
kiln_fuzzer(systolic_decode_fuzz LINK kiln_systolic)
target_sources(fuzz_seeds PRIVATE systolic_seeds.cc
  ${PROJECT_SOURCE_DIR}/tests/targets/systolic/random_instruction.cc)
target_link_libraries(fuzz_seeds PRIVATE kiln_systolic)
