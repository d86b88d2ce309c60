// Reads program vectors: checks the keys of the JSON file, the sizes and digests of the memory
// images, and the launches.

#include "kiln/targets/vta/isa/program_vector.h"

#include <algorithm>

#include "fmt/format.h"
#include "kiln/support/budgets.h"
#include "kiln/support/file.h"
#include "kiln/support/hex.h"
#include "kiln/support/json_reader.h"
#include "kiln/support/sha256.h"
#include "kiln/targets/vta/isa/faults.h"
#include "kiln/targets/vta/isa/gemm_vector.h"
#include "kiln/targets/vta/isa/isa.h"
#include "kiln/targets/vta/isa/memory.h"

namespace kiln::vta {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxImage = uint64_t{1} << 32;

// Reads the memory image of `bytes` bytes that the key `key` names, a file in the folder of the
// JSON file. If the key `digest_key` exists, the image must have that SHA-256.
StatusOr<std::vector<uint8_t>> ReadImage(const Json& json, const fs::path& file,
                                         const std::string& key, const std::string& digest_key,
                                         uint64_t bytes) {
  JsonReader reader(file.string());
  const std::string name = reader.Text(json, key, "");
  const bool stated = json.contains(digest_key);
  const std::vector<uint8_t> digest =
      stated ? reader.Hex(json, digest_key, "") : std::vector<uint8_t>{};
  if (stated && digest.size() != kSha256Bytes) {
    reader.Fail(digest_key, fmt::format("has {} bytes", digest.size()),
                "a SHA-256 has 32, 64 hex digits");
  }
  KILN_RETURN_IF_ERROR(reader.status());
  if (name.empty() || fs::path(name).filename() != name) {
    return ErrorAt(file.string(), "", fmt::format("'{}' is no file beside it", name),
                   "the plain name of an image");
  }
  const fs::path path = file.parent_path() / name;
  KILN_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, budgets::kMemoryImageBytes));
  if (text.size() != bytes) {
    return ErrorAt(path.string(), "", fmt::format("has {} bytes", text.size()),
                   fmt::format("dram_size of {} is {}", file.string(), bytes));
  }
  std::vector<uint8_t> image(text.begin(), text.end());
  if (!stated) return image;
  if (const std::vector<uint8_t> is = Sha256Of(image); is != digest) {
    return ErrorAt(path.string(), "", fmt::format("has the SHA-256 {}", HexOf(is)),
                   fmt::format("{} of {} is {}", digest_key, file.string(), HexOf(digest)));
  }
  return image;
}

void ReadLaunches(const Json& json, JsonReader& reader, ProgramVector* vector) {
  const Json::array_t& runs = reader.List(json, "runs", "");
  for (size_t i = 0; i < runs.size(); ++i) {
    const Json& run = runs[i];
    const std::string path = fmt::format("runs[{}].", i);
    ProgramVector::Launch launch;
    launch.address = reader.Count(run, "insn_addr", path + "insn_addr", kMaxImage);
    launch.instructions =
        reader.Count(run, "insn_count", path + "insn_count", kMaxImage / kInstructionBytes);
    const uint64_t bytes = launch.instructions * kInstructionBytes;
    vector->launches.push_back(launch);
    if (vector->fault.has_value()) continue;  // the expected fault may be a launch out of range
    const uint64_t end = vector->base + vector->before.size();
    if (launch.address < vector->base || launch.address > end) {
      return reader.Fail(
          path + "insn_addr",
          fmt::format("there is no stream at {}, outside of the image", launch.address),
          fmt::format("an address from {} to {}", vector->base, end - 1));
    }
    if (bytes > end - launch.address) {
      return reader.Fail(path + "insn_count",
                         fmt::format("{} instructions from {} on go beyond the image",
                                     launch.instructions, launch.address),
                         fmt::format("at most {}", (end - launch.address) / kInstructionBytes));
    }
    // `insns` repeats the instructions for human readers; they must equal those in the image.
    if (const auto listed = run.find("insns"); listed != run.end()) {
      const std::span<const uint8_t> stream(vector->before.data() + (launch.address - vector->base),
                                            bytes);
      bool same = listed->is_array() && listed->size() == launch.instructions;
      for (size_t k = 0; same && k < listed->size(); ++k) {
        const auto word =
            (*listed)[k].is_string() ? ParseHex((*listed)[k].get<std::string>()) : std::nullopt;
        same = word.has_value() &&
               std::ranges::equal(*word, stream.subspan(k * kInstructionBytes, kInstructionBytes));
      }
      if (!same)
        return reader.Fail(path + "insns", "differs from the stream in the image",
                           "the same instructions");
    }
  }
}

}  // namespace

StatusOr<ProgramVector> ReadProgramVector(const fs::path& file) {
  KILN_ASSIGN_OR_RETURN(const Json json, ReadJson(file));
  return ParseProgramVector(json, file);
}

bool IsProgramVector(const Json& json) {
  return HasFormat(json, kProgramVectorFormat) || IsGemmVector(json);
}

StatusOr<ProgramVector> ParseProgramVector(const Json& json, const fs::path& file) {
  if (IsGemmVector(json)) return ParseGemmVector(json, file);
  JsonReader reader(file.string());
  if (const std::string format = reader.Text(json, "format", ""); format != kProgramVectorFormat) {
    reader.Fail("format", fmt::format("'{}' is none of programs", format),
                std::string(kProgramVectorFormat));
  }
  ProgramVector vector;
  vector.name = reader.Text(json, "name", "");
  const Json* config = reader.Find(json, "config", "config");
  vector.base = reader.Count(json, "dram_base", "dram_base", kMaxImage);
  if (vector.base % DeviceMemory::kPageBytes != 0 || vector.base == 0) {
    reader.Fail("dram_base", fmt::format("no memory begins at {}", vector.base),
                "a multiple of 4096, and not 0");
  }
  const uint64_t bytes = reader.Count(json, "dram_size", "dram_size", kMaxImage);
  if (vector.base + bytes > kMaxImage) {
    reader.Fail(
        "dram_size",
        fmt::format("{} bytes from {} on go beyond addresses of 32 bits", bytes, vector.base),
        fmt::format("at most {}", kMaxImage - std::min(vector.base, kMaxImage)));
  }
  if (bytes > static_cast<uint64_t>(budgets::kMemoryImageBytes)) {
    reader.Fail("dram_size", fmt::format("an image of {} bytes is too large", bytes),
                fmt::format("at most {}", budgets::kMemoryImageBytes));
  }
  KILN_RETURN_IF_ERROR(reader.status());
  KILN_ASSIGN_OR_RETURN(vector.config, ParseOriginalConfig(config->dump(), file.string()));
  KILN_ASSIGN_OR_RETURN(vector.before, ReadImage(json, file, "dram_in", "sha256_in", bytes));
  if (json.value("expect", Json()) == "error") {
    vector.fault = reader.Text(json, "error_kind", "");
    const auto kind = FindFaultKind(*vector.fault);
    if (!kind.ok()) reader.Fail("error_kind", MessageOf(kind.status()), "");
  }
  ReadLaunches(json, reader, &vector);
  KILN_RETURN_IF_ERROR(reader.status());
  if (vector.fault.has_value()) return vector;
  if (const auto counters = json.find("counters"); counters != json.end()) {
    vector.profile.emplace();
    for (const ProfileCounter& counter : kProfileCounters) {
      (*vector.profile).*counter.member = reader.Count(
          *counters, counter.name, fmt::format("counters.{}", counter.name), UINT64_MAX);
    }
  }
  KILN_RETURN_IF_ERROR(reader.status());
  KILN_ASSIGN_OR_RETURN(vector.after, ReadImage(json, file, "dram_out", "sha256_out", bytes));
  return vector;
}

}  // namespace kiln::vta
