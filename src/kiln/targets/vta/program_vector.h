// Programs with the memory before and after, as files: "vta-vector-1".
//
// NAME.json names two binary images of the memory from byte address dram_base on, the launches whose streams stand in
// it, and the counters at the end. A file with expect: "error" has no image after; the program must be stopped with
// the fault error_kind. Where sha256_in and sha256_out are there, the images must have these digests.
#ifndef KILN_TARGETS_VTA_PROGRAM_VECTOR_H_
#define KILN_TARGETS_VTA_PROGRAM_VECTOR_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/support/status.h"
#include "kiln/targets/vta/config.h"
#include "kiln/targets/vta/counters.h"
#include "kiln/targets/vta/functional.h"
#include "kiln/targets/vta/json_reader.h"
#include "kiln/targets/vta/rtl_machine.h"
#include "kiln/targets/vta/timeline.h"

namespace kiln::vta {

struct ProgramVector {
  std::string name;
  Config config;
  uint64_t base = 0;  // of the images
  std::vector<uint8_t> before;
  std::vector<uint8_t> after;        // empty with a fault
  std::optional<std::string> fault;  // NameOf the kind that the program must be stopped with
  struct Launch {
    uint64_t address = 0;
    size_t instructions = 0;
  };
  std::vector<Launch> launches;  // on one machine, one after the other
  std::optional<Profile> profile;
  // What a byte of the memory is, where it has a name; may be null. For messages.
  std::function<std::string(uint64_t address)> name_of_byte = {};
};

inline constexpr std::string_view kProgramVectorFormat = "vta-vector-1";
// Errors name the file and the key: missing, of the wrong kind, an image of another size than dram_size or with another
// digest, launches beyond the image or with other instructions than it holds.
StatusOr<ProgramVector> ReadProgramVector(const std::filesystem::path& file);
// Of a file that has been read as JSON: of the format, or one of gemm_vector.h.
bool IsProgramVector(const Json& json);
StatusOr<ProgramVector> ParseProgramVector(const Json& json, const std::filesystem::path& file);

// Runs it on a machine, a launch after the other, and compares all bytes and counters. `launch` runs one; `profile` is
// the machine's. nullopt: as it should be; else what differs first.
using Launcher =
    std::function<std::optional<Fault>(DeviceMemory& memory, const ProgramVector::Launch& launch)>;
std::optional<std::string> FindDifference(const ProgramVector& vector, const Launcher& launch,
                                          const Profile& profile);
// The same on the functional level, with stages in order `order` (StageOrder). No launch may take more than
// `most_steps` (FunctionalMachine).
std::optional<std::string> FindDifference(const ProgramVector& vector, uint64_t order,
                                          uint64_t most_steps = UINT64_MAX);
// The same on the cycle level. No launch may take more than `most_cycles`. `time`, `timeline` may be null: of all
// launches that came to their ends.
std::optional<std::string> FindCycleDifference(const ProgramVector& vector, uint64_t most_cycles,
                                               RunTime* time, Timeline* timeline);
// The same on the hardware (rtl_machine.h), and its cycles and counters, or its fault and the instruction that has it,
// compared with the cycle level's. Where tokens alone make a program faulty, the cycle level's fault stands for
// whatever the hardware met of that in its time. Errors: hardware that cannot be built, a simulation that ends by
// itself.
StatusOr<std::optional<std::string>> FindRtlDifference(const ProgramVector& vector,
                                                       RtlDesigns& designs, uint64_t most_cycles,
                                                       RunTime* time);

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_PROGRAM_VECTOR_H_
