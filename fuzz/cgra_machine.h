// The small machine whose beats cgra_stream_fuzz.cc sends, and cgra_seeds.cc writes seeds for.
#ifndef KILN_FUZZ_CGRA_MACHINE_H_
#define KILN_FUZZ_CGRA_MACHINE_H_

#include "kiln/targets/cgra/config/config.h"

namespace kiln::cgra {

inline Config SmallMachine() {
  Config config;
  config.name = "small";
  config.columns = 3;
  config.lanes = 2;
  config.memory_depth = 16;
  config.ring_entries = 8;
  config.instruction_depth = 4;
  config.spoke_depth = 4;
  config.output_depth = 8;
  config.outputs = 2;
  config.wait_limit = 3;
  return config;
}

}  // namespace kiln::cgra

#endif  // KILN_FUZZ_CGRA_MACHINE_H_
