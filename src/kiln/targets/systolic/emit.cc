#include "kiln/targets/systolic/emit.h"

#include "fmt/format.h"
#include "kiln/hardware/axi_port.h"
#include "kiln/hardware/axi_signals.h"
#include "kiln/hardware/rtl_format.h"
#include "kiln/hardware/rtl_project.h"
#include "kiln/hardware/rtl_spline.h"
#include "kiln/numerics/nonlinear.h"
#include "kiln/support/check.h"
#include "kiln/support/integer.h"
#include "kiln/targets/systolic/user_unit.h"

namespace kiln::systolic {
namespace {

constexpr uint64_t kProgramAlignment = 4096;
constexpr int kScalePortBytes = 8;  // SCALE_PORT_BYTES of rtl/systolic/kiln_systolic_pkg.sv

constexpr int kAddressBits = 40;  // ADDRESS_BITS of the same

using hardware::AxiReadSignals;
using hardware::AxiWriteSignals;
using hardware::PortsOf;
using hardware::Signal;
using hardware::WiresOf;

std::vector<Signal> ReadSignals(int port_bytes) { return AxiReadSignals(port_bytes, kAddressBits); }
std::vector<Signal> WriteSignals(int port_bytes) {
  return AxiWriteSignals(port_bytes, kAddressBits);
}

// The one bus of a design point with shared_bus: kiln_shared_bus' memory side.
std::vector<Signal> SharedSignals(int port_bytes) {
  std::vector<Signal> signals = ReadSignals(port_bytes);
  const std::vector<Signal> writes = WriteSignals(port_bytes);
  signals.insert(signals.end(), writes.begin(), writes.end());
  for (const auto& [output, name] :
       {std::pair{true, "arid"}, {false, "rid"}, {true, "awid"}, {false, "bid"}}) {
    signals.push_back({output, 3, name});
  }
  return signals;
}

// The machine's buses for memory, by their names.
struct Bus {
  const char* name;
  std::vector<Signal> signals;
};
std::vector<Bus> MemoryBuses(const Config& c) {
  return {{"program", ReadSignals(c.instruction_bytes_per_cycle)},
          {"input", ReadSignals(c.input_port_bytes)},
          {"weight", ReadSignals(c.weight_port_bytes)},
          {"operand", ReadSignals(c.operand_port_bytes)},
          {"output", WriteSignals(c.output_port_bytes)}};
}
// Those for block scales, which a design point without them has not.
std::vector<Bus> ScaleBuses() {
  return {{"input_scale", ReadSignals(kScalePortBytes)},
          {"weight_scale", ReadSignals(kScalePortBytes)},
          {"operand_scale", ReadSignals(kScalePortBytes)},
          {"output_scale", WriteSignals(kScalePortBytes)}};
}

struct Parameter {
  const char* name;
  std::string value;
};

// Tables of approximate functions: those of the library by their name, others as they are.
std::string SplinesOf(const Format& format) {
  for (const auto& [name, constant] :
       {std::pair{"fp32", "FP32"}, {"bf16", "BF16"}, {"fp16", "FP16"}}) {
    if (format.name == name) return fmt::format("kiln_spline_tables_pkg::{}", constant);
  }
  const auto tables = SplineTablesFor(format);
  KILN_CHECK(
      tables.ok());  // the design point has been read, and its vector format is a float with a zero
  return hardware::SplineParameters(**tables);
}

std::vector<Parameter> ParametersOf(const Config& c) {
  const auto number = [](int64_t value) { return std::to_string(value); };
  const auto format = [](const Format& f) { return hardware::FormatDescriptor(f); };
  const auto stages = [&c](uint32_t set) {
    return fmt::format("{}'b{:b}", c.vector_stages, c.present_stages(set));
  };
  // The quire runs on through the accumulations, but where block scales part the row tiles.
  const std::string quire =
      c.quire ? hardware::QuireDescriptor(c.input_format, c.weight_format) : "";
  const bool accumulates_quires = c.quire && c.block_size == 0;
  std::vector<Format> inputs, weights;  // of the other precisions
  for (const OperandFormats& pair : c.other_precisions) {
    inputs.push_back(pair.input);
    weights.push_back(pair.weight);
  }
  return {
      {"ARRAY_ROWS", number(c.array_rows)},
      {"ARRAY_COLUMNS", number(c.array_columns)},
      {"WEIGHT_ROWS_PER_CYCLE", number(c.weight_rows_per_cycle)},
      {"INPUT_FORMAT", format(c.input_format)},
      {"WEIGHT_FORMAT", format(c.weight_format)},
      {"PRECISIONS", number(c.precisions())},
      {"OTHER_INPUT_FORMATS", hardware::FormatsDescriptor(inputs)},
      {"OTHER_WEIGHT_FORMATS", hardware::FormatsDescriptor(weights)},
      {"PRODUCT_ROUNDED", c.product_rounded ? "1'b1" : "1'b0"},
      {"PSUM_FORMAT", c.quire ? quire : format(c.psum_format)},
      {"ACCUMULATION_FORMAT", accumulates_quires ? quire : format(c.accumulation_format)},
      {"VECTOR_FORMAT", format(c.vector_format)},
      {"VECTOR_SPLINES", SplinesOf(c.vector_format)},
      {"BLOCK_SIZE", number(c.block_size)},
      {"SCALE_FORMAT", format(c.scale_format)},
      {"INPUT_BUFFER_WORDS", number(c.input_buffer_words)},
      {"WEIGHT_BUFFER_WORDS", number(c.weight_buffer_words)},
      {"ACCUMULATION_BUFFER_WORDS", number(c.accumulation_buffer_words)},
      {"ACCUMULATION_BUFFER_BANKS", number(c.accumulation_buffer_banks)},
      {"VECTOR_STAGES", number(c.vector_stages)},
      {"VECTOR_STAGE_LATENCY", number(c.vector_stage_latency)},
      {"VECTOR_FUNCTION_STAGES", stages(c.vector_function_stages)},
      {"VECTOR_DIVIDE_STAGES", stages(c.vector_divide_stages)},
      {"VECTOR_ROW_BUFFER_WORDS", number(c.vector_row_buffer_words)},
      {"VECTOR_ROWS_IN_FLIGHT", number(c.vector_rows_in_flight)},
      {"OPERAND_BUFFER_WORDS", number(c.operand_buffer_words)},
      {"DEPTHWISE_MULTIPLIERS", number(c.depthwise_multipliers)},
      {"DEPTHWISE_BUFFER_WORDS", number(c.depthwise_buffer_words)},
      {"USER_UNIT", number(c.user_unit == nullptr ? 0 : c.user_unit->number)},
      {"DEPTHWISE_WORDS_PER_CYCLE", number(c.depthwise_words_per_cycle)},
      {"INPUT_PORT_BYTES", number(c.input_port_bytes)},
      {"WEIGHT_PORT_BYTES", number(c.weight_port_bytes)},
      {"OPERAND_PORT_BYTES", number(c.operand_port_bytes)},
      {"OUTPUT_PORT_BYTES", number(c.output_port_bytes)},
      {"INSTRUCTION_BYTES_PER_CYCLE", number(c.instruction_bytes_per_cycle)},
      {"MEMORY_LATENCY", number(c.memory_latency)},
      {"MEMORY_BYTES", fmt::format("64'd{}", c.memory_bytes)},
      {"COMMAND_QUEUE_DEPTH", number(c.command_queue_depth)},
      {"SHARED_BUS", c.shared_bus ? "1'b1" : "1'b0"},
  };
}

// $readmemh text of 16-byte words, most significant byte first; runs of zero words are left out.
std::string HexImage(const std::vector<uint8_t>& bytes, uint64_t base) {
  KILN_CHECK(base % 16 == 0);
  std::string out;
  bool gap = true;
  for (size_t at = 0; at < bytes.size(); at += 16) {
    std::string word;
    bool zero = true;
    for (size_t i = 16; i-- > 0;) {
      const uint8_t byte = at + i < bytes.size() ? bytes[at + i] : uint8_t{0};
      zero = zero && byte == 0;
      word += fmt::format("{:02x}", byte);
    }
    if (zero) {
      gap = true;
      continue;
    }
    if (gap) out += fmt::format("@{:x}\n", (base + at) / 16);
    gap = false;
    out += word + "\n";
  }
  return out;
}

std::string DesignHeader(const Config& c) {
  return fmt::format(
      "// Of the design point '{}', for the testbench.\n"
      "#ifndef KILN_DESIGN_H_\n#define KILN_DESIGN_H_\n\n#include \"kiln_systolic_bench.h\"\n\n"
      "namespace kiln_design {{\n\n"
      "constexpr kiln::testbench::SystolicPorts kPorts = {{{}, {}, {}, {}, {}}};\n"
      "// Of an ideal memory behind the ports, from an address to its first beat.\n"
      "constexpr unsigned kMemoryLatency = {};\n\n"
      "}}  // namespace kiln_design\n\n#endif  // KILN_DESIGN_H_\n",
      c.name, c.instruction_bytes_per_cycle, c.input_port_bytes, c.weight_port_bytes,
      c.operand_port_bytes, c.output_port_bytes, c.memory_latency - c.port_latency());
}

}  // namespace

std::optional<FormatFault> FindRtlFault(const Config& c) {
  const auto fault = [](std::string key, std::string what, std::string remedy) {
    return FormatFault{std::move(key), std::move(what), std::move(remedy)};
  };
  if (c.array_columns == 1 && c.depthwise_multipliers > 0) {
    return fault("array_columns", "the RTL's depthwise unit wants two columns",
                 "2 or more, or depthwise_multipliers: 0");
  }
  return std::nullopt;
}

std::string TopModule(const Config& config) {
  std::string out = fmt::format(
      "// The accelerator '{}': the systolic machine of rtl/systolic with this design point's "
      "parameters. Emitted by "
      "Kiln.\n"
      "module kiln_accelerator (\n    input  logic clock,\n    input  logic reset",
      config.name);
  out += PortsOf("control", hardware::AxiLiteSignals());
  if (config.shared_bus) {
    out += PortsOf("memory", SharedSignals(config.input_port_bytes));
  } else {
    for (const Bus& bus : MemoryBuses(config)) out += PortsOf(bus.name, bus.signals);
  }
  std::string unused;  // scale buses, where there are none
  for (const Bus& bus : ScaleBuses()) {
    if (config.block_size > 0) {
      out += PortsOf(bus.name, bus.signals);
      continue;
    }
    for (const Signal& s : bus.signals) {
      unused += fmt::format("      .{}_{}({}),\n", bus.name, s.name, s.output ? "" : "'0");
    }
  }
  out +=
      ",\n    output logic irq,\n    // For testbenches: whether a program runs, and how many of "
      "its "
      "instructions are "
      "finished, modulo 2^16.\n    output logic running,\n    output logic [15:0] finished\n);\n";
  if (config.shared_bus) {
    for (const Bus& bus : MemoryBuses(config)) out += WiresOf(bus.name, bus.signals);
    out += fmt::format("  kiln_shared_bus #(\n      .DATA_BYTES({})\n  ) bus (.*);\n",
                       config.input_port_bytes);
  }
  out += "  kiln_systolic #(\n";
  const std::vector<Parameter> parameters = ParametersOf(config);
  for (size_t i = 0; i < parameters.size(); ++i) {
    out += fmt::format("      .{}({}){}\n", parameters[i].name, parameters[i].value,
                       i + 1 < parameters.size() ? "," : "");
  }
  out += unused.empty() ? "  ) machine (.*);\nendmodule\n"
                        : "  ) machine (\n" + unused + "      .*\n  );\nendmodule\n";
  return out;
}

ProgramImage ProgramImageOf(const SystolicProgram& program) {
  ProgramImage image;
  image.base = AlignUp(program.memory_top(), kProgramAlignment);
  for (const Step& step : program.steps()) {
    if (step.kind != Step::Kind::kInstructions) continue;
    image.bytes.resize(AlignUp(image.bytes.size(), kProgramAlignment));
    image.addresses.push_back(image.base + image.bytes.size());
    const std::vector<uint8_t> bits = program.EncodeStep(step);
    image.bytes.insert(image.bytes.end(), bits.begin(), bits.end());
  }
  image.memory_bytes = AlignUp(image.base + image.bytes.size(), kProgramAlignment);
  return image;
}

namespace {

// The machine without a program for it.
StatusOr<hardware::RtlProject> ProjectOf(const Config& config) {
  if (const auto fault = FindRtlFault(config)) {
    return UnsupportedAt("", fmt::format("{}, key '{}'", config.name, fault->key), fault->fault,
                         fault->remedy);
  }
  hardware::RtlProject project;
  project.top = "kiln_accelerator";
  project.top_text = TopModule(config);
  project.testbench = {"kiln_systolic_testbench.cc", "kiln_systolic_bench.h",
                       "kiln_systolic_registers.h",  "kiln_axi_lite.h",
                       "kiln_axi_memory.h",          "kiln_simulate_options.h"};
  project.others = {{"design.yaml", PrintConfig(config)}, {"design.h", DesignHeader(config)}};
  return project;
}

}  // namespace

Status EmitMachine(const Config& config, const std::filesystem::path& folder) {
  KILN_ASSIGN_OR_RETURN(const hardware::RtlProject project, ProjectOf(config));
  return hardware::WriteRtlProject(project, folder);
}

Status EmitDesign(const SystolicProgram& program, const std::filesystem::path& folder) {
  const Config& config = program.config();
  KILN_ASSIGN_OR_RETURN(hardware::RtlProject project, ProjectOf(config));
  const ProgramImage image = ProgramImageOf(program);
  if (image.addresses.empty())
    return UnsupportedAt("", config.name, "the program has no instructions", "");
  project.simulation_arguments =
      fmt::format("--memory memory.hex --program {}", image.addresses[0]);
  project.others.emplace_back(
      "memory.hex", "// Constants, then programs: words of 16 bytes, addresses in words.\n" +
                        HexImage(program.constants(), program.constants_base()) +
                        HexImage(image.bytes, image.base));
  project.others.emplace_back("program.txt", program.Print());
  return hardware::WriteRtlProject(project, folder);
}

}  // namespace kiln::systolic
