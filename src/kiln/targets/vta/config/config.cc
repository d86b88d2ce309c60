// Reads design points from YAML and from the original's JSON, and refuses combinations of sizes
// that are not a machine.

#include "kiln/targets/vta/config/config.h"

#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <utility>

#include "fmt/format.h"
#include "kiln/support/budgets.h"
#include "kiln/support/file.h"
#include "kiln/support/integer.h"
#include "kiln/support/json_reader.h"
#include "kiln/support/resources.h"
#include "kiln/support/yaml.h"
#include "kiln/targets/vta/config/derived.h"
#include "kiln/targets/vta/config/keys.h"

namespace kiln::vta {
namespace {

// The longest element that memory ports and the runtime accept, in bytes.
constexpr int64_t kMaxElementBytes = 4096;
constexpr int kSramBaseBits = 16;  // width of sram_base in loads and stores
constexpr std::string_view kHardwareVersion =
    "0.0.2";  // the original's version with these instructions

struct Fault {
  std::string key, fault, remedy;
};

std::optional<Fault> ElementFault(std::string key, std::string_view what, int64_t bits) {
  if (bits % 8 != 0) {
    return Fault{std::move(key),
                 fmt::format("an element of {} has {} bits, no whole bytes", what, bits),
                 "wider numbers, a larger block or batch"};
  }
  if (bits / 8 > kMaxElementBytes) {
    return Fault{std::move(key), fmt::format("an element of {} has {} bytes", what, bits / 8),
                 fmt::format("at most {}", kMaxElementBytes)};
  }
  return std::nullopt;
}

std::optional<Fault> BufferFault(std::string key, int64_t bytes, int64_t element_bytes) {
  if (bytes < 2 * element_bytes) {
    return Fault{std::move(key),
                 fmt::format("{} bytes are less than two elements of {}", bytes, element_bytes),
                 "a larger buffer"};
  }
  if (bytes / element_bytes > int64_t{1} << kSramBaseBits) {
    return Fault{std::move(key),
                 fmt::format("{} bytes are {} elements", bytes, bytes / element_bytes),
                 fmt::format("at most {}: loads and stores name them in {} bits",
                             1 << kSramBaseBits, kSramBaseBits)};
  }
  return std::nullopt;
}

// Returns why a combination of valid keys is not a machine, or nullopt if it is one.
std::optional<Fault> FindFault(const Config& c) {
  const int64_t inputs = int64_t{c.batch} * c.block_in, outputs = int64_t{c.batch} * c.block_out;
  if (c.accumulator_bits < c.input_bits) {
    return Fault{"accumulator_bits",
                 fmt::format("{} are fewer than an output's {}", c.accumulator_bits, c.input_bits),
                 "at least input_bits"};
  }
  if (auto fault = ElementFault("block_in", "inputs", inputs * c.input_bits)) return fault;
  if (auto fault =
          ElementFault("block_out", "weights", int64_t{c.block_out} * c.block_in * c.weight_bits)) {
    return fault;
  }
  if (auto fault = ElementFault("block_out", "accumulators", outputs * c.accumulator_bits))
    return fault;
  if (auto fault = ElementFault("block_out", "outputs", outputs * c.input_bits)) return fault;
  if (auto fault = BufferFault("uop_buffer_bytes", c.uop_buffer_bytes, Config::kUopBytes))
    return fault;
  if (auto fault = BufferFault("input_buffer_bytes", c.input_buffer_bytes, c.input_element_bytes()))
    return fault;
  if (auto fault =
          BufferFault("weight_buffer_bytes", c.weight_buffer_bytes, c.weight_element_bytes()))
    return fault;
  if (auto fault = BufferFault("accumulator_buffer_bytes", c.accumulator_buffer_bytes,
                               c.accumulator_element_bytes())) {
    return fault;
  }
  const std::string indices = fmt::format("indices of {} accumulators, {} inputs and {} weights",
                                          c.accumulators(), c.inputs(), c.weights());
  if (const int bits = UopBits(c); bits > 32) {
    return Fault{"accumulator_buffer_bytes",
                 fmt::format("{} make a micro-op of {} bits", indices, bits),
                 "at most 32: smaller buffers or larger blocks"};
  }
  for (const auto& [name, bits] :
       {std::pair{"GEMM", GemmInstructionBits(c)}, std::pair{"ALU", AluInstructionBits(c)}}) {
    if (bits > kInstructionBits) {
      return Fault{"accumulator_buffer_bytes",
                   fmt::format("{} make {} instructions of {} bits", indices, name, bits),
                   "at most 128: smaller buffers or larger blocks"};
    }
  }
  return std::nullopt;
}

// Returns the number of accumulator banks of a design point that does not set it.
int DefaultBanks(const Config& c) {
  return static_cast<int>(std::min<int64_t>(Config().accumulator_banks, c.accumulators()));
}

// Refuses Kiln's own keys in the original's JSON. Ignoring one would silently give a machine other
// than the intended one.
Status CheckKey(std::string_view name, std::string_view source) {
  const auto& keys = Keys().keys();
  const auto own = std::ranges::find(keys, name, &hardware::Key<Config>::name);
  if (own == keys.end() && name != "family") return OkStatus();
  constexpr std::string_view kYaml = "a design point in YAML, NAME.yaml";
  const bool has_original = own != keys.end() && !own->original.empty();
  return ErrorAt(source, fmt::format("key '{}'", name),
                 "is of design points in YAML; JSON has the original's keys",
                 has_original ? fmt::format("{}, the logarithm, or {}", own->original, kYaml)
                              : std::string(kYaml));
}

// Reads the original's counterpart of a Kiln key, a base-2 logarithm, if it is present. Stores the
// first error in `status`.
void ReadLogarithm(const Json& json, const hardware::Key<Config>& key, std::string_view source,
                   Config* config, Status* status) {
  const auto at = json.find(key.original);
  if (at == json.end()) return;
  const int low = CeilLog2(key.type.low), high = CeilLog2(key.type.high);
  if (at->is_number_integer() && *at >= low && *at <= high) {
    key.type.store(int64_t{1} << at->get<int>(), config);
  } else if (status->ok()) {
    *status = ErrorAt(source, fmt::format("key '{}'", key.original),
                      Shown(*at) + " is no logarithm that this can be",
                      fmt::format("a whole number from {} to {}", low, high));
  }
}

}  // namespace

int Config::uop_index_bits() const { return CeilLog2(uops()); }
int Config::input_index_bits() const { return CeilLog2(inputs()); }
int Config::weight_index_bits() const { return CeilLog2(weights()); }
int Config::accumulator_index_bits() const { return CeilLog2(accumulators()); }

std::string SizesOf(const Config& c) {
  const std::string blocks = c.block_in == c.block_out
                                 ? fmt::format("{}", c.block_in)
                                 : fmt::format("{}x{}", c.block_in, c.block_out);
  return fmt::format("{}x{}_i{}w{}a{}_{}_{}_{}_{}", c.batch, blocks, c.input_bits, c.weight_bits,
                     c.accumulator_bits, CeilLog2(c.uop_buffer_bytes),
                     CeilLog2(c.input_buffer_bytes), CeilLog2(c.weight_buffer_bytes),
                     CeilLog2(c.accumulator_buffer_bytes));
}

StatusOr<Config> ParseConfig(std::string_view yaml, std::string_view source) {
  KILN_ASSIGN_OR_RETURN(YamlFile file, YamlFile::Parse(yaml, source));
  const YamlMap root = file.root();
  Config c;
  hardware::KeyReader<Config> reader(Keys(), root, &c);
  reader.ReadTo("instruction_queue_depth");
  reader.Read("clock_mhz");
  root.Has("accumulator_banks");  // marks the key as known, even if other keys leave its range open
  bool fits = reader.values_fit();
  if (fits) {
    if (const auto fault = FindFault(c)) {
      root.Fail(fault->key, fault->fault, fault->remedy);
      fits = false;
    }
  }
  if (fits) {
    c.accumulator_banks = DefaultBanks(c);
    reader.Read("accumulator_banks");
  }
  KILN_RETURN_IF_ERROR(file.Finish());
  return c;
}

StatusOr<Config> ParseOriginalConfig(std::string_view text, std::string_view source) {
  KILN_ASSIGN_OR_RETURN(const Json json, ParseJson(text, source));
  if (!json.is_object())
    return ErrorAt(source, "", "is no JSON object", "a configuration like VTA's vta_config.json");
  Status status = OkStatus();
  for (const auto& [name, value] : json.items()) {
    KILN_RETURN_IF_ERROR(CheckKey(name, source));
    const bool known =
        std::ranges::any_of(Keys().keys(), [&](const auto& key) { return key.original == name; });
    if (!known && name.starts_with("LOG_")) {
      return ErrorAt(source, fmt::format("key '{}'", name), "is no size of VTA",
                     "one of the original's keys");
    }
  }
  if (const auto version = json.find("HW_VER");
      version != json.end() && *version != kHardwareVersion) {
    return ErrorAt(
        source, "key 'HW_VER'",
        Shown(*version) + " is another version of the hardware, with instructions of its own",
        fmt::format("\"{}\"", kHardwareVersion));
  }
  Config c;
  for (const hardware::Key<Config>& key : Keys().keys()) {
    if (!key.original.empty()) ReadLogarithm(json, key, source, &c, &status);
  }
  KILN_RETURN_IF_ERROR(status);
  if (const auto fault = FindFault(c))
    return ErrorAt(source, fault->key, fault->fault, fault->remedy);
  c.accumulator_banks = DefaultBanks(c);
  c.name = SizesOf(c);
  return c;
}

StatusOr<Config> ParseConfigOfFile(std::string_view text, std::string_view source) {
  if (!source.ends_with(".json")) return ParseConfig(text, source);
  KILN_ASSIGN_OR_RETURN(const Json json, ParseJson(text, source));
  if (json.is_object() && json.contains("config"))
    return ParseOriginalConfig(json["config"].dump(), source);
  return ParseOriginalConfig(text, source);
}

StatusOr<Config> LoadConfig(const std::string& file) {
  if (file.empty()) return ParseOriginalConfig("{}", "");
  KILN_ASSIGN_OR_RETURN(const std::string text, ReadFile(file, budgets::kJsonBytes));
  return ParseConfigOfFile(text, file);
}

StatusOr<Config> FindConfig(const std::string& name) {
  if (name.empty()) return LoadConfig("");
  KILN_ASSIGN_OR_RETURN(const std::filesystem::path file, FindResource("accelerators", name));
  return LoadConfig(file.string());
}

std::string PrintConfig(const Config& c) { return Keys().Print(c); }

}  // namespace kiln::vta
