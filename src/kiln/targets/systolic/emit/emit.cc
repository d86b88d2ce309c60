// Generates the files of an emitted design: top module, memory image, testbench settings.
#include "kiln/targets/systolic/emit/emit.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "kiln/hardware/axi_signals.h"
#include "kiln/hardware/rtl_project.h"
#include "kiln/hardware/top_module.h"
#include "kiln/support/check.h"
#include "kiln/support/integer.h"
#include "kiln/targets/interface/folder_guide.h"
#include "kiln/targets/systolic/config/derived.h"
#include "kiln/targets/systolic/config/keys.h"
#include "kiln/targets/systolic/emit/driver.h"
#include "kiln/targets/systolic/isa/registers.h"

namespace kiln::systolic {
namespace {

constexpr int kSharedIdBits = 3;     // of the memory side of kiln_shared_bus
constexpr int kBusAddressBits = 40;  // of the top's buses; the machine's memory is a part of it

using hardware::Bus;
using hardware::Instance;

// Returns the machine's memory buses, with their names. Their addresses have `address_bits` bits.
std::vector<Bus> MemoryBuses(const Config& c, int address_bits) {
  const auto read = [&](int bytes) { return hardware::AxiReadSignals(bytes, address_bits); };
  return {{"program", read(c.instruction_bytes_per_cycle)},
          {"input", read(c.input_port_bytes)},
          {"weight", read(c.weight_port_bytes)},
          {"operand", read(c.operand_port_bytes)},
          {"output", hardware::AxiWriteSignals(c.output_port_bytes, address_bits)}};
}
// Returns the buses for block scales. A design point without block scales does not have them.
std::vector<Bus> ScaleBuses() {
  const auto read = hardware::AxiReadSignals(kScalePortBytes, kBusAddressBits);
  return {{"input_scale", read},
          {"weight_scale", read},
          {"operand_scale", read},
          {"output_scale", hardware::AxiWriteSignals(kScalePortBytes, kBusAddressBits)}};
}

// Returns $readmemh text of 16-byte words, most significant byte first. Runs of zero words are
// omitted.
std::string HexImage(std::span<const uint8_t> bytes, uint64_t base) {
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
      c.operand_port_bytes, c.output_port_bytes, AnswerCycles(c));
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

hardware::TopModule TopOf(const Config& config) {
  hardware::TopModule top;
  top.comment = fmt::format(
      "The accelerator '{}': the systolic machine of rtl/systolic with this design point's "
      "parameters. Emitted by Kiln.",
      config.name);
  top.buses = {{"control", hardware::AxiLiteSignals()}};
  Instance machine = {"kiln_systolic", "machine", Keys().RtlParameters(config), {}};
  if (config.shared_bus) {
    top.buses.push_back({"memory", hardware::AxiSignalsWithIds(config.input_port_bytes,
                                                               kBusAddressBits, kSharedIdBits)});
    top.wires = MemoryBuses(config, kAddressBits);
    Instance shared = {
        "kiln_shared_bus", "bus", {{"DATA_BYTES", std::to_string(config.input_port_bytes)}}, {}};
    AddMemoryBase(top.buses.back(), kAddressBits, &shared, &top);
    top.instances.push_back(std::move(shared));
  } else {
    for (const Bus& bus : MemoryBuses(config, kBusAddressBits)) {
      top.buses.push_back(bus);
      AddMemoryBase(bus, kAddressBits, &machine, &top);
    }
  }
  for (const Bus& bus : ScaleBuses()) {
    if (config.block_size > 0) {
      top.buses.push_back(bus);
      AddMemoryBase(bus, kAddressBits, &machine, &top);
    } else {
      TieOff(bus, &machine);
    }
  }
  top.instances.push_back(std::move(machine));
  top.ports = {{true, 1, "irq"}};
  top.observed_comment =
      "For testbenches: whether a program runs, and how many of its instructions are finished, "
      "modulo 2^16.";
  top.observed = {{true, 1, "running"}, {true, 16, "finished"}};
  return top;
}

StatusOr<hardware::RtlProject> MachineProject(const Config& config) {
  if (const auto fault = FindRtlFault(config)) {
    return UnsupportedAt("", fmt::format("{}, key '{}'", config.name, fault->key), fault->fault,
                         fault->remedy);
  }
  hardware::RtlProject project;
  SetTop(TopOf(config), &project);
  project.testbench = {"kiln_systolic_testbench.cc", "kiln_systolic_bench.h",
                       "kiln_systolic_registers.h",  "kiln_axi_lite.h",
                       "kiln_axi_memory.h",          "kiln_memory_timing.h",
                       "kiln_simulate_options.h",    "kiln_simulate_sample.h",
                       "kiln_simulate_session.h",    "kiln_simulate_wave.h"};
  project.others = {{"design.yaml", PrintConfig(config)}, {"design.h", DesignHeader(config)}};
  return project;
}

StatusOr<hardware::RtlProject> DesignProject(const SystolicProgram& program) {
  const Config& config = program.config();
  KILN_ASSIGN_OR_RETURN(hardware::RtlProject project, MachineProject(config));
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
  return project;
}

namespace {

std::string FormatOf(const Binding& b) {
  const Encoding& e = b.encoding;
  std::string text = e.format.name;
  if (IsInteger(e.element)) {
    text = e.element == Element::kInt32   ? "int32"
           : e.element == Element::kInt16 ? "int16"
           : e.element == Element::kUint8 ? "uint8"
                                          : "int8";
  }
  return text.empty() ? "fp32" : text;
}

std::string MeaningOf(const Binding& b) {
  const Encoding& e = b.encoding;
  if (!b.holds_codes()) return "the value";
  if (e.blocked()) return "value = number * scale of its block";
  if (!IsInteger(e.element)) return fmt::format("value = {} * number", e.scale);
  return fmt::format("{}, codes {} to {}", CodeMeaning(e.scale, e.zero_point), e.low, e.high);
}

// Returns a tensor's axes by strides in bytes. An axis whose stride is negative runs the other way
// from its last element, to which `base` moves.
std::vector<hardware::PlacedAxis> AxesFrom(std::span<const int64_t> shape,
                                           std::span<const int64_t> strides, uint64_t* base) {
  std::vector<int64_t> bits;
  for (size_t i = 0; i < shape.size(); ++i) {
    bits.push_back(8 * std::abs(strides[i]));
    if (strides[i] < 0) *base -= static_cast<uint64_t>(-strides[i] * (shape[i] - 1));
  }
  std::vector<hardware::PlacedAxis> axes = hardware::AxesOf(shape, bits);
  for (size_t i = 0; i < shape.size(); ++i) {
    if (strides[i] < 0) axes[i].name = "reversed";
  }
  return axes;
}

// Explains the formats of tensors whose codes are pieces of fp32 numbers.
std::string NumbersText(const hardware::DesignGuide& guide) {
  std::string text;
  for (const auto* places :
       {&guide.inputs, &guide.outputs, &guide.host_reads, &guide.host_writes}) {
    for (const hardware::PlacedTensor& place : *places) {
      if (place.format == "bf16.flush") {
        return "A number in `bf16.flush` is the upper half of an fp32 number, rounded to nearest "
               "even; subnormal numbers are 0.";
      }
      if (place.format == "bf16") text = "A number in `bf16` is the upper half of an fp32 number.";
    }
  }
  return text;
}

// Returns how software starts the programs of a network.
std::string StartOf(const SystolicProgram& program, const ProgramImage& image) {
  std::string text = fmt::format(
      "1. Reset the machine. Load `memory.hex` into memory: 16-byte words, most significant byte "
      "first.\n   Addresses 0x0 to 0x{:x} belong to the machine; bytes that no file sets are 0. "
      "From the last {} bytes it only reads,\n   because it reads programs ahead. Addresses are "
      "the machine's: `MEMORY_BASE` places them in a system.\n"
      "2. Write the inputs. Do so before every run, because later tensors may take their place.\n",
      image.memory_bytes + kPrefetchBytes - 1, kPrefetchBytes);
  const hardware::RegisterMap map = Registers();
  const auto at = [&](const char* name) { return hardware::FindRegister(map, name).address; };
  int number = 3;
  size_t next = 0;
  for (const Step& step : program.steps()) {
    if (step.kind == Step::Kind::kHost) {
      const HostStep& host = program.host_steps()[static_cast<size_t>(step.begin)];
      text += fmt::format(
          "{}. Compute `{}` on the host (see \"Kernels of the host\").\n", number++,
          hardware::SampleName(program.kernels()[static_cast<size_t>(host.kernel)].name));
      continue;
    }
    const uint64_t address = image.addresses[next++];
    text += fmt::format(
        "{}. Over `control`, write 0x{:x} to PROGRAM_ADDRESS (0x{:03x}),\n   then 1 to CONTROL "
        "(0x{:03x}). Wait until bit 0 (busy) of STATUS (0x{:03x}) is 0, or for `irq` (see "
        "below).\n   Bit 1 says that the run is done; after bit 2 (error), read ERROR_CODE "
        "(0x{:03x}).\n",
        number++, address, at("PROGRAM_ADDRESS"), at("CONTROL"), at("STATUS"), at("ERROR_CODE"));
  }
  std::vector<std::string> errors;
  for (const hardware::RegisterValue& error : hardware::FindRegister(map, "ERROR_CODE").values)
    errors.push_back(fmt::format("{} {}", error.value, error.name));
  return text + fmt::format(
                    "{}. Read the outputs.\n\n`irq` is high while a bit is set both in "
                    "INTERRUPT_STATUS (0x{:03x}) and in INTERRUPT_ENABLE (0x{:03x}), which is 0 "
                    "after a reset: write 3 to INTERRUPT_ENABLE once, and after a run write what "
                    "INTERRUPT_STATUS reads back to it.\n\nERROR_CODE is 0 without an error, or "
                    "one of {}; `driver/kiln_registers.h` says what each one means. ERROR_PLACE "
                    "(0x{:03x}) names the instruction.",
                    number, at("INTERRUPT_STATUS"), at("INTERRUPT_ENABLE"), fmt::join(errors, ", "),
                    at("ERROR_PLACE"));
}

}  // namespace

std::vector<hardware::PlacedTensor> PlacesOf(const Binding& b) {
  const Encoding& e = b.encoding;
  const std::vector<int64_t> shape(b.shape.dims().begin(), b.shape.dims().end());
  const bool integer = IsInteger(e.element) || (e.format.is_integer() && !e.is_float());
  std::vector<hardware::PlacedTensor> places = {
      {.name = b.name,
       .base = b.base,
       .bits = 8 * e.bytes,
       .is_signed = e.element != Element::kUint8 && (e.format.name.empty() || e.format.is_signed),
       .is_number = integer,
       .axes = {},
       .format = FormatOf(b),
       .meaning = MeaningOf(b)}};
  places[0].axes = AxesFrom(shape, b.strides, &places[0].base);
  if (b.holds_codes() && !e.blocked()) {
    places[0].scales = {e.scale};
    places[0].zero_point = IsInteger(e.element) ? e.zero_point : 0;
  }
  if (!e.blocked()) return places;
  std::vector<int64_t> blocks = shape;
  int64_t& along = blocks[static_cast<size_t>(b.scale_axis)];
  along = CeilDivide(along, e.block_size);
  places.push_back({.name = b.name + ":scales",
                    .base = b.scale_base,
                    .bits = 8 * e.scale_format.bytes(),
                    .is_number = false,
                    .axes = {},
                    .format = e.scale_format.name,
                    .meaning = fmt::format("scales of blocks of {} elements along axis {}",
                                           e.block_size, b.scale_axis)});
  places[1].axes = AxesFrom(blocks, b.scale_strides, &places[1].base);
  return places;
}

Status EmitMachine(const Config& config, const std::filesystem::path& folder) {
  KILN_ASSIGN_OR_RETURN(const hardware::RtlProject project, MachineProject(config));
  return hardware::WriteRtlProject(project, folder);
}

Status EmitDesign(const SystolicProgram& program, const FolderContent& content,
                  const hardware::SampleRun& sample, const std::filesystem::path& folder) {
  KILN_ASSIGN_OR_RETURN(hardware::RtlProject project, DesignProject(program));
  AddSample(sample, "--memory memory.hex", &project);
  AddDriverTo(program, sample, &project);
  hardware::DesignGuide& guide =
      project.guide.emplace(GuideOf("systolic", program.config().name, content, program));
  const ProgramImage image = ProgramImageOf(program);
  guide.start = StartOf(program, image);
  for (size_t i = 0; i < image.addresses.size(); ++i) {
    guide.constants.emplace_back(image.addresses.size() == 1 ? std::string("PROGRAM_ADDRESS")
                                                             : fmt::format("PROGRAM_{}_ADDRESS", i),
                                 image.addresses[i]);
  }
  guide.constants.emplace_back("MEMORY_BYTES", image.memory_bytes + kPrefetchBytes);
  const auto place = [](const std::vector<Binding>& bindings,
                        std::vector<hardware::PlacedTensor>* places) {
    for (const Binding& binding : bindings)
      std::ranges::move(PlacesOf(binding), std::back_inserter(*places));
  };
  place(program.inputs(), &guide.inputs);
  place(program.outputs(), &guide.outputs);
  for (const HostStep& step : program.host_steps()) {
    place(step.inputs, &guide.host_reads);
    place(step.outputs, &guide.host_writes);
  }
  guide.layout = NumbersText(guide);
  guide.bus_requests = fmt::format(
      "Each channel of the machine has at most {} requests in flight (`memory_latency` + 4), the "
      "fetch of programs at most {}.",
      OutstandingRequests(program.config()), PrefetchWords(program.config()));
  if (!sample.empty()) guide.sample = kWholeNetworkSample;
  guide.files = {{"memory.hex", "constants and programs, for `$readmemh` with words of 16 bytes"}};
  return hardware::WriteRtlProject(project, folder);
}

}  // namespace kiln::systolic
