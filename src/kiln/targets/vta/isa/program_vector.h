// Program vectors: programs with the memory before and after, in files of the format
// "vta-vector-1". Tests, `kiln vta exec` and the linter read them.
//
// NAME.json names two binary images of the memory from byte address dram_base on, the launches,
// whose instructions are in the image, and the final counters. A file with expect: "error" has no
// image after; the program must be stopped with the fault error_kind. If sha256_in and sha256_out
// are given, the images must have these digests.
#ifndef KILN_TARGETS_VTA_ISA_PROGRAM_VECTOR_H_
#define KILN_TARGETS_VTA_ISA_PROGRAM_VECTOR_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/support/json_reader.h"
#include "kiln/support/status.h"
#include "kiln/targets/vta/config/config.h"
#include "kiln/targets/vta/isa/profile.h"

namespace kiln::vta {

// A program vector in memory.
struct ProgramVector {
  std::string name;
  Config config;
  uint64_t base = 0;  // byte address of the images
  std::vector<uint8_t> before;
  std::vector<uint8_t> after;        // empty if there is a fault
  std::optional<std::string> fault;  // name of the kind of fault that must stop the program
  struct Launch {
    uint64_t address = 0;
    size_t instructions = 0;
  };
  std::vector<Launch> launches;  // run in order on one machine
  std::optional<Profile> profile;
  // Returns what the byte at an address is called in messages, or "". May be null.
  std::function<std::string(uint64_t address)> name_of_byte = {};
};

inline constexpr std::string_view kProgramVectorFormat = "vta-vector-1";
// Reads a vector from a file. Errors name the file and the key: a key is missing or of the wrong
// kind, an image has another size than dram_size or another digest, or a launch is outside of the
// image or differs from the instructions in it.
StatusOr<ProgramVector> ReadProgramVector(const std::filesystem::path& file);
// Do the same with a file that has been read as JSON. IsProgramVector returns whether it has this
// format or that of gemm_vector.h.
bool IsProgramVector(const Json& json);
StatusOr<ProgramVector> ParseProgramVector(const Json& json, const std::filesystem::path& file);

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_ISA_PROGRAM_VECTOR_H_
