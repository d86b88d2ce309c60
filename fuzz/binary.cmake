# Fuzz targets of the binary family.
if(TARGET kiln_binary)
  kiln_fuzzer(binary_thresholds_fuzz LINK kiln_binary)
  target_sources(fuzz_seeds PRIVATE binary_seeds.cc)
  target_link_libraries(fuzz_seeds PRIVATE kiln_binary)
endif()
