# Fuzz targets of the cgra family.
if(TARGET kiln_cgra)
  kiln_fuzzer(cgra_graph_fuzz LINK kiln_cgra)
  kiln_fuzzer(cgra_mapping_fuzz LINK kiln_cgra)
  kiln_fuzzer(cgra_policy_fuzz LINK kiln_cgra)
  target_sources(fuzz_seeds PRIVATE cgra_seeds.cc)
  target_link_libraries(fuzz_seeds PRIVATE kiln_cgra)
endif()
