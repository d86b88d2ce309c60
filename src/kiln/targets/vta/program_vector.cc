#include "kiln/targets/vta/program_vector.h"

#include <algorithm>

#include "fmt/format.h"
#include "kiln/support/budgets.h"
#include "kiln/support/file.h"
#include "kiln/targets/vta/cycle.h"
#include "kiln/targets/vta/gemm_vector.h"
#include "kiln/targets/vta/hex.h"
#include "kiln/targets/vta/json_reader.h"
#include "kiln/targets/vta/sha256.h"

namespace kiln::vta {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxImage = uint64_t{1} << 32;

// An image that stands beside the JSON file, whose key `key` names it; of so many bytes, and with the digest that
// `digest_key` states, where it does.
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
  KILN_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, budgets::kVtaImageBytes));
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

struct ProfileCounter {
  const char* name;
  uint64_t Profile::* member;
};
constexpr ProfileCounter kProfileCounters[] = {
    {"inp_load_nbytes", &Profile::input_load_bytes},
    {"wgt_load_nbytes", &Profile::weight_load_bytes},
    {"acc_load_nbytes", &Profile::accumulator_load_bytes},
    {"uop_load_nbytes", &Profile::uop_load_bytes},
    {"out_store_nbytes", &Profile::output_store_bytes},
    {"gemm_counter", &Profile::gemm_steps},
    {"alu_counter", &Profile::alu_steps}};

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
    if (vector->fault.has_value()) continue;  // which may be just that
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
    // The instructions are there a second time, to read; they must be the same.
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
  if (bytes > static_cast<uint64_t>(budgets::kVtaImageBytes)) {
    reader.Fail("dram_size", fmt::format("an image of {} bytes is too large", bytes),
                fmt::format("at most {}", budgets::kVtaImageBytes));
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

std::optional<std::string> FindDifference(const ProgramVector& vector, uint64_t order,
                                          uint64_t most_steps) {
  FunctionalMachine machine(vector.config);
  machine.set_most_steps(most_steps);
  const auto launch = [&](DeviceMemory& memory, const ProgramVector::Launch& run) {
    return machine.Launch(memory, run.address, run.instructions, StageOrder(order));
  };
  return FindDifference(vector, launch, machine.profile());
}

std::optional<std::string> FindCycleDifference(const ProgramVector& vector, uint64_t most_cycles,
                                               RunTime* time, Timeline* timeline) {
  CycleMachine machine(vector.config);
  const auto launch = [&](DeviceMemory& memory, const ProgramVector::Launch& run) {
    CycleMachine::Result result =
        machine.Launch(memory, run.address, run.instructions, most_cycles, timeline);
    if (time != nullptr && !result.fault.has_value()) {
      time->cycles += result.time.cycles;
      time->counters += result.time.counters;
    }
    return std::move(result.fault);
  };
  return FindDifference(vector, launch, machine.profile());
}

namespace {

// How the hardware's time differs from the cycle level's, first.
std::optional<std::string> FindTimeDifference(const RtlMachine::Result& rtl,
                                              const RunTime& expected) {
  if (rtl.time.cycles != expected.cycles) {
    return fmt::format("{} cycles; {} at the cycle level", rtl.time.cycles, expected.cycles);
  }
  for (size_t i = 0; i < kCounters; ++i) {
    const uint64_t is = rtl.time.counters.values()[i],
                   should = expected.counters.values()[i] & 0xffffffff;
    if (is == should) continue;
    const CounterInfo& info = CounterTable()[i];
    return fmt::format("{}.{} is {}; {} at the cycle level", info.unit, info.name, is, should);
  }
  if (rtl.accumulator_writes != (expected.counters.accumulator_writes() & 0xffffffff)) {
    return fmt::format("{} accumulators written; {} at the cycle level", rtl.accumulator_writes,
                       expected.counters.accumulator_writes());
  }
  return std::nullopt;
}

}  // namespace

StatusOr<std::optional<std::string>> FindRtlDifference(const ProgramVector& vector,
                                                       RtlDesigns& designs, uint64_t most_cycles,
                                                       RunTime* time) {
  KILN_ASSIGN_OR_RETURN(RtlMachine machine, RtlMachine::Start(vector.config, designs));
  // Beside it the cycle level, on a memory of its own, which also counts what the vector's counters count.
  CycleMachine cycle(vector.config);
  DeviceMemory cycle_memory(vector.base, vector.before);
  Status status = OkStatus();
  std::optional<std::string> levels_difference;
  const auto launch = [&](DeviceMemory& memory,
                          const ProgramVector::Launch& run) -> std::optional<Fault> {
    auto result = machine.Launch(memory, run.address, run.instructions, most_cycles);
    const CycleMachine::Result expected =
        cycle.Launch(cycle_memory, run.address, run.instructions, most_cycles);
    if (!result.ok()) {
      status.Update(result.status());
      return Fault{FaultKind::kTooLong, 0, ""};
    }
    if (!levels_difference.has_value()) {
      if (const auto differs = FindDifference(result->fault, expected.met)) {
        levels_difference = *differs + " at the cycle level";
      }
    }
    // The cycle level also proves what the hardware cannot: that FINISH waits for all others at any speed.
    if (expected.fault.has_value()) return expected.fault;
    if (result->fault.has_value()) return std::move(result->fault);
    if (time != nullptr) {
      time->cycles += result->time.cycles;
      time->counters += result->time.counters;
    }
    if (!levels_difference.has_value())
      levels_difference = FindTimeDifference(*result, expected.time);
    return std::nullopt;
  };
  const auto difference = FindDifference(vector, launch, cycle.profile());
  KILN_RETURN_IF_ERROR(status);
  return difference.has_value() ? difference : levels_difference;
}

std::optional<std::string> FindDifference(const ProgramVector& vector, const Launcher& run,
                                          const Profile& profile) {
  DeviceMemory memory(vector.base, vector.before);
  for (size_t i = 0; i < vector.launches.size(); ++i) {
    const ProgramVector::Launch& launch = vector.launches[i];
    const std::optional<Fault> fault = run(memory, launch);
    if (!fault.has_value()) continue;
    if (vector.fault.has_value() && NameOf(fault->kind) == *vector.fault) return std::nullopt;
    return fmt::format("launch {}, instruction {}: {}: {}", i, fault->instruction,
                       NameOf(fault->kind), fault->message);
  }
  if (vector.fault.has_value())
    return fmt::format("runs to its end; the vector has it stop with {}", *vector.fault);
  const std::span<const uint8_t> bytes = memory.bytes();
  const auto [wrong, right] = std::mismatch(bytes.begin(), bytes.end(), vector.after.begin());
  if (wrong != bytes.end()) {
    const uint64_t address = vector.base + static_cast<uint64_t>(wrong - bytes.begin());
    std::string name = vector.name_of_byte ? vector.name_of_byte(address) : "";
    if (name.empty()) name = fmt::format("byte {:#x} of the memory", address);
    return fmt::format("{} is {:#04x}; the vector has {:#04x}", name, *wrong, *right);
  }
  for (const ProfileCounter& counter : kProfileCounters) {
    if (!vector.profile.has_value()) break;
    const uint64_t is = profile.*counter.member, should = (*vector.profile).*counter.member;
    if (is != should) return fmt::format("{} is {}; the vector has {}", counter.name, is, should);
  }
  return std::nullopt;
}

}  // namespace kiln::vta
