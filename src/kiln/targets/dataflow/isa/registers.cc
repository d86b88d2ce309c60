// Describes the registers of the machine's control unit.

#include "kiln/targets/dataflow/isa/registers.h"

#include <algorithm>

#include "fmt/format.h"

namespace kiln::dataflow {

hardware::RegisterMap Registers(int channels, int streams) {
  const bool yes = true, no = false;
  hardware::RegisterMap map;
  map.machine = "a dataflow machine";
  map.page = "docs/dataflow-machine.md";
  map.identity = 0x4b494c4e;  // "KILN"
  map.version = 0x00030000;
  map.registers = {
      {"IDENTITY", 0x000, yes, no, fmt::format("0x{:08x}, \"KILN\"", map.identity)},
      {"VERSION", 0x004, yes, no, fmt::format("of this map: 0x{:08x}", map.version)},
      {"CONTROL",
       0x008,
       yes,
       yes,
       "",
       {{"RUN", 0, 0, "the source accepts beats and weights are requested"},
        {"CLEAR", 1, 1, "clears the counters below and the highest levels, reads as 0"}}},
      {"STATUS",
       0x00c,
       yes,
       no,
       "",
       {{"IN_FLIGHT", 15, 0, "images that have begun at the source and not ended at the sink"},
        {"FAULT", 16, 16, "a weight stream got SLVERR or DECERR"}}},
      {"IMAGES_IN", 0x010, yes, no, "images whose last beat was accepted"},
      {"IMAGES_OUT", 0x014, yes, no, "images whose last beat has left"},
      {"CYCLES",
       0x018,
       yes,
       no,
       "from the first beat of an image after the clear to the last beat that has left, both "
       "included",
       {},
       {},
       2},
      {"LATENCY",
       0x020,
       yes,
       no,
       "from the first beat in to the last beat out of one image, both included; one image is "
       "measured at a time, and the next one that begins after its end is the next",
       {},
       {},
       2},
      {"INTERVAL",
       0x028,
       yes,
       no,
       "between the last beats of the last two images; 0 before the second",
       {},
       {},
       2},
      {"CHANNELS", 0x030, yes, no, "number of HIGHEST registers"},
      {"STREAMS", 0x034, yes, no, "number of BASE registers"},
      {"BASE",
       0x100,
       yes,
       yes,
       "address of the weights of stream i, low 32 bits and high bits; not writable once the "
       "machine has run after a reset",
       {},
       {},
       2,
       std::max(streams, 1),
       8},
      {"HIGHEST", 0x400, yes, no, "greatest level of channel i", {}, {}, 1, channels, 4}};
  return map;
}

}  // namespace kiln::dataflow
