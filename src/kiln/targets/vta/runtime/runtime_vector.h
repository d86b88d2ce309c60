// Runtime vectors: recorded runtime calls with their results, in files of the format "vta-rtapi-1".
// `kiln vta replay` and the tests read them.
//
// NAME.json lists the calls of the original's runtime interface in order, with names in place of
// pointers; for every launch, the stream and the micro-ops that it loads; and the final bytes of
// buffers.
#ifndef KILN_TARGETS_VTA_RUNTIME_RUNTIME_VECTOR_H_
#define KILN_TARGETS_VTA_RUNTIME_RUNTIME_VECTOR_H_

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/support/json_reader.h"
#include "kiln/support/status.h"
#include "kiln/targets/vta/config/config.h"

namespace kiln::vta {

// A runtime vector in memory. Addresses are in bytes.
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
  std::map<std::string, std::vector<uint8_t>> final;  // by buffer: its first bytes at the end
};

inline constexpr std::string_view kRuntimeVectorFormat = "vta-rtapi-1";
// Reads a vector from a file. Errors name the file and the key.
StatusOr<RuntimeVector> ReadRuntimeVector(const std::filesystem::path& file);
// Parses a vector from a file that has been read as JSON.
StatusOr<RuntimeVector> ParseRuntimeVector(const Json& json, const std::filesystem::path& file);

// Makes the calls on the device with this name (device.h) and compares addresses, streams,
// micro-ops and bytes. Returns the first difference, or nullopt if there is none. Errors: a call
// that is unknown or malformed; a device that cannot be made.
StatusOr<std::optional<std::string>> Replay(const RuntimeVector& vector, std::string_view device);

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_RUNTIME_RUNTIME_VECTOR_H_
