#include "kiln/targets/vta/config.h"

#include <algorithm>
#include <bit>
#include <filesystem>
#include <initializer_list>
#include <iterator>
#include <optional>

#include "fmt/format.h"
#include "kiln/hardware/axi_port.h"
#include "kiln/support/budgets.h"
#include "kiln/support/file.h"
#include "kiln/support/integer.h"
#include "kiln/support/resources.h"
#include "kiln/support/yaml.h"
#include "kiln/targets/vta/isa.h"
#include "kiln/targets/vta/json_reader.h"

namespace kiln::vta {
namespace {

// Longest element that memory ports and runtime take, bytes.
constexpr int64_t kMaxElementBytes = 4096;
constexpr int64_t kMaxBufferBytes = int64_t{1} << 30;
constexpr int kSramBaseBits = 16;  // of loads and stores
constexpr int kMaxBanks = 16;
constexpr std::string_view kHardwareVersion =
    "0.0.2";  // of the original, whose instructions these are

int LogOf(int64_t value) { return std::bit_width(static_cast<uint64_t>(value)) - 1; }

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

// What keeps a combination of powers of two from being a machine.
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
  if (const int bits = Encoding::BitsOfUop(c); bits > 32) {
    return Fault{"accumulator_buffer_bytes",
                 fmt::format("{} make a micro-op of {} bits", indices, bits),
                 "at most 32: smaller buffers or larger blocks"};
  }
  for (const Opcode opcode : {Opcode::kGemm, Opcode::kAlu}) {
    if (const int bits = Encoding::BitsOfCompute(c, opcode); bits > 8 * kInstructionBytes) {
      return Fault{"accumulator_buffer_bytes",
                   fmt::format("{} make {} instructions of {} bits", indices,
                               opcode == Opcode::kGemm ? "GEMM" : "ALU", bits),
                   "at most 128: smaller buffers or larger blocks"};
    }
  }
  return std::nullopt;
}

// As many banks as a design point has that does not say.
int DefaultBanks(const Config& c) {
  return static_cast<int>(std::min<int64_t>(4, c.accumulators()));
}

struct Key {
  std::string_view original;
  int low, high;  // of the logarithm
  int least;      // what the original takes without the key
};

// Kiln's own keys, which a design point in YAML has, and what they are in the original's JSON; "": nothing.
struct OwnKey {
  std::string_view name, original;
};
constexpr OwnKey kOwnKeys[] = {{"family", ""},
                               {"name", ""},
                               {"input_bits", "LOG_INP_WIDTH"},
                               {"weight_bits", "LOG_WGT_WIDTH"},
                               {"accumulator_bits", "LOG_ACC_WIDTH"},
                               {"batch", "LOG_BATCH"},
                               {"block_in", "LOG_BLOCK"},
                               {"block_out", "LOG_BLOCK"},
                               {"uop_buffer_bytes", "LOG_UOP_BUFF_SIZE"},
                               {"input_buffer_bytes", "LOG_INP_BUFF_SIZE"},
                               {"weight_buffer_bytes", "LOG_WGT_BUFF_SIZE"},
                               {"accumulator_buffer_bytes", "LOG_ACC_BUFF_SIZE"},
                               {"memory_port_bytes", ""},
                               {"memory_latency", ""},
                               {"instruction_queue_depth", ""},
                               {"accumulator_banks", ""},
                               {"clock_mhz", ""}};

// A key that would be passed over, and the machine be another than the one meant.
Status CheckKey(std::string_view name, std::string_view source) {
  const auto own = std::ranges::find(kOwnKeys, name, &OwnKey::name);
  if (own != std::end(kOwnKeys)) {
    constexpr std::string_view kYaml = "a design point in YAML, NAME.yaml";
    return ErrorAt(source, fmt::format("key '{}'", name),
                   "is of design points in YAML; JSON has the original's keys",
                   own->original.empty()
                       ? std::string(kYaml)
                       : fmt::format("{}, the logarithm, or {}", own->original, kYaml));
  }
  return OkStatus();
}
constexpr Key kInputWidth{"LOG_INP_WIDTH", 0, 4, 3};
constexpr Key kWeightWidth{"LOG_WGT_WIDTH", 0, 4, 3};
constexpr Key kAccumulatorWidth{"LOG_ACC_WIDTH", 3, 5, 5};
constexpr Key kBatch{"LOG_BATCH", 0, 8, 0};
constexpr Key kBlock{"LOG_BLOCK", 0, 8, 4};
constexpr Key kUopBuffer{"LOG_UOP_BUFF_SIZE", 3, 30, 15};
constexpr Key kInputBuffer{"LOG_INP_BUFF_SIZE", 0, 30, 15};
constexpr Key kWeightBuffer{"LOG_WGT_BUFF_SIZE", 0, 30, 18};
constexpr Key kAccumulatorBuffer{"LOG_ACC_BUFF_SIZE", 0, 30, 17};

constexpr const Key* kKeys[] = {&kInputWidth,  &kWeightWidth,  &kAccumulatorWidth,
                                &kBatch,       &kBlock,        &kUopBuffer,
                                &kInputBuffer, &kWeightBuffer, &kAccumulatorBuffer};

// Reads a key of the original's; notes the first fault.
int64_t PowerOf(const Json& json, const Key& key, std::string_view source, Status* status) {
  int64_t log = key.least;
  if (const auto at = json.find(key.original); at != json.end()) {
    const bool right = at->is_number_integer() && *at >= key.low && *at <= key.high;
    if (!right && status->ok()) {
      *status = ErrorAt(source, fmt::format("key '{}'", key.original),
                        Shown(*at) + " is no logarithm that this can be",
                        fmt::format("a whole number from {} to {}", key.low, key.high));
    }
    if (right) log = at->get<int64_t>();
  }
  return int64_t{1} << log;
}

}  // namespace

int Config::uop_index_bits() const { return LogOf(uops()); }
int Config::input_index_bits() const { return LogOf(inputs()); }
int Config::weight_index_bits() const { return LogOf(weights()); }
int Config::accumulator_index_bits() const { return LogOf(accumulators()); }

std::string SizesOf(const Config& c) {
  const std::string blocks = c.block_in == c.block_out
                                 ? fmt::format("{}", c.block_in)
                                 : fmt::format("{}x{}", c.block_in, c.block_out);
  return fmt::format("{}x{}_i{}w{}a{}_{}_{}_{}_{}", c.batch, blocks, c.input_bits, c.weight_bits,
                     c.accumulator_bits, LogOf(c.uop_buffer_bytes), LogOf(c.input_buffer_bytes),
                     LogOf(c.weight_buffer_bytes), LogOf(c.accumulator_buffer_bytes));
}

StatusOr<Config> ParseConfig(std::string_view yaml, std::string_view source) {
  KILN_ASSIGN_OR_RETURN(YamlFile file, YamlFile::Parse(yaml, source));
  const YamlMap root = file.root();
  Config c;
  root.Require({"family", "name"});
  std::string family = "vta";
  root.String("family", &family);
  if (family != "vta") root.Fail("family", fmt::format("'{}' is not vta", family), "family: vta");
  root.Name("name", &c.name);

  c.accumulator_banks = 0;
  bool powers = true;
  const auto power = [&](std::string_view key, auto* value, int64_t low, int64_t high) {
    root.Int(key, value, low, high);
    if (IsPowerOfTwo(*value)) return;
    powers = false;
    root.Fail(key, fmt::format("{} is not a power of two", *value),
              fmt::format("a power of two from {} to {}", low, high));
  };
  power("input_bits", &c.input_bits, 1, 16);
  power("weight_bits", &c.weight_bits, 1, 16);
  power("accumulator_bits", &c.accumulator_bits, 8, 32);
  power("batch", &c.batch, 1, 256);
  power("block_in", &c.block_in, 1, 256);
  power("block_out", &c.block_out, 1, 256);
  power("uop_buffer_bytes", &c.uop_buffer_bytes, 8, kMaxBufferBytes);
  power("input_buffer_bytes", &c.input_buffer_bytes, 1, kMaxBufferBytes);
  power("weight_buffer_bytes", &c.weight_buffer_bytes, 1, kMaxBufferBytes);
  power("accumulator_buffer_bytes", &c.accumulator_buffer_bytes, 1, kMaxBufferBytes);
  power("memory_port_bytes", &c.memory_port_bytes, 8, 128);
  root.Int("memory_latency", &c.memory_latency, kAxiPortLatency + 1, 100000);
  root.Int("instruction_queue_depth", &c.instruction_queue_depth, 2, 65536);
  root.Double("clock_mhz", &c.clock_mhz, 1e-3, 1e5);
  bool fits = powers;
  root.Has("accumulator_banks");  // a known key, whether or not the rest says what it can be
  if (powers) {
    if (const auto fault = FindFault(c)) {
      root.Fail(fault->key, fault->fault, fault->remedy);
      fits = false;
    }
  }
  if (fits) {
    const int64_t most = std::min<int64_t>(kMaxBanks, c.accumulators());
    c.accumulator_banks = DefaultBanks(c);
    power("accumulator_banks", &c.accumulator_banks, 1, most);
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
    const bool known = std::any_of(std::begin(kKeys), std::end(kKeys),
                                   [&](const Key* k) { return k->original == name; });
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
  const auto read = [&](const Key& key) { return PowerOf(json, key, source, &status); };
  Config c;
  c.input_bits = static_cast<int>(read(kInputWidth));
  c.weight_bits = static_cast<int>(read(kWeightWidth));
  c.accumulator_bits = static_cast<int>(read(kAccumulatorWidth));
  c.batch = static_cast<int>(read(kBatch));
  c.block_in = c.block_out = static_cast<int>(read(kBlock));
  c.uop_buffer_bytes = read(kUopBuffer);
  c.input_buffer_bytes = read(kInputBuffer);
  c.weight_buffer_bytes = read(kWeightBuffer);
  c.accumulator_buffer_bytes = read(kAccumulatorBuffer);
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

std::string PrintConfig(const Config& c) {
  std::string out = "family: vta\n";
  const auto add = [&](std::string_view key, const auto& value) {
    out += fmt::format("{}: {}\n", key, value);
  };
  add("name", YamlText(c.name));
  add("input_bits", c.input_bits);
  add("weight_bits", c.weight_bits);
  add("accumulator_bits", c.accumulator_bits);
  add("batch", c.batch);
  add("block_in", c.block_in);
  add("block_out", c.block_out);
  add("uop_buffer_bytes", c.uop_buffer_bytes);
  add("input_buffer_bytes", c.input_buffer_bytes);
  add("weight_buffer_bytes", c.weight_buffer_bytes);
  add("accumulator_buffer_bytes", c.accumulator_buffer_bytes);
  add("memory_port_bytes", c.memory_port_bytes);
  add("memory_latency", c.memory_latency);
  add("instruction_queue_depth", c.instruction_queue_depth);
  add("accumulator_banks", c.accumulator_banks);
  add("clock_mhz", c.clock_mhz);
  return out;
}

}  // namespace kiln::vta
