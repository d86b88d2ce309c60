# The rooms of the VTA family, lowest first. The functional and the cycle level do not include each
# other.
kiln_family(vta USES run lower hardware quantise passes execute ir numerics net support)
kiln_family_room(vta/config)
kiln_family_room(vta/isa                      USES config)
kiln_family_room(vta/simulate                 USES isa config)
kiln_family_room(vta/simulate/functional      USES simulate isa config)
kiln_family_room(vta/simulate/cycle           USES simulate isa config)
kiln_family_room(vta/emit                     USES isa config)
kiln_family_room(vta/simulate/rtl             USES emit simulate isa config)
kiln_family_room(vta/lint                     USES simulate/functional isa config)
kiln_family_room(vta/compile                  USES simulate/cycle isa config)
kiln_family_room(vta/runtime
                 USES simulate/rtl simulate/cycle simulate/functional simulate isa config)
kiln_family_room(vta/run                      USES runtime compile emit simulate/rtl simulate/cycle
                                                    simulate/functional isa config)
kiln_family_room(vta/cost                     USES isa config)
kiln_family_command(vta USES command report hardware ir numerics net support)

# The C interface of the VTA runtime for programs outside of this tree is a library with these calls
# and no other symbols. Its source file stays out of unity builds: the objects of files joined with
# it would bring the calls in twice.
set(c_interface ${CMAKE_CURRENT_LIST_DIR}/runtime/vta_runtime.cc)
set_source_files_properties(${c_interface} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
add_library(kiln_vta_runtime SHARED ${c_interface})
target_link_libraries(kiln_vta_runtime PRIVATE kiln_vta kiln_settings)
target_link_options(kiln_vta_runtime
  PRIVATE -Wl,--version-script=${CMAKE_CURRENT_LIST_DIR}/runtime/vta_runtime.map)
set_target_properties(kiln_vta_runtime PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION 0
  LINK_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/runtime/vta_runtime.map)
install(TARGETS kiln_vta_runtime)
add_dependencies(kiln_libraries kiln_vta_runtime)
install(FILES ${CMAKE_CURRENT_LIST_DIR}/runtime/vta_runtime.h
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/kiln)
