// Runtime calls and what came of them, as files: "vta-rtapi-1".
//
// NAME.json lists calls of the original's runtime interface in order, with names in place of pointers, and for every
// launch the stream and the micro-ops that it loads, and the bytes of buffers at the end.
#ifndef KILN_TARGETS_VTA_RUNTIME_VECTOR_H_
#define KILN_TARGETS_VTA_RUNTIME_VECTOR_H_

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/support/status.h"
#include "kiln/targets/vta/config.h"
#include "kiln/targets/vta/json_reader.h"

namespace kiln::vta {

struct RuntimeVector {
  std::string name, file;
  Config config;
  std::vector<Json> calls;  // [name, arguments]
  struct Placed {
    uint64_t bytes = 0, address = 0;
  };
  std::map<std::string, Placed> buffers;
  struct UopLoad {
    uint64_t address = 0;
    uint64_t sram = 0;
    std::vector<uint32_t> words;
  };
  struct Launch {
    uint64_t address = 0;
    std::vector<std::string> instructions;  // hex digits
    std::vector<UopLoad> uop_loads;
  };
  std::vector<Launch> launches;
  std::map<std::string, std::vector<uint8_t>> final;  // buffers' first bytes at the end
};

inline constexpr std::string_view kRuntimeVectorFormat = "vta-rtapi-1";
// Errors name the file and the key.
StatusOr<RuntimeVector> ReadRuntimeVector(const std::filesystem::path& file);
// Of a file that has been read as JSON.
StatusOr<RuntimeVector> ParseRuntimeVector(const Json& json, const std::filesystem::path& file);

// Makes the calls on a device by name (device.h) and compares placement, streams, micro-ops and bytes. nullopt: as it
// should be; else what differs first. Errors: a call that is unknown or malformed.
StatusOr<std::optional<std::string>> Replay(const RuntimeVector& vector, std::string_view device);

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_RUNTIME_VECTOR_H_
