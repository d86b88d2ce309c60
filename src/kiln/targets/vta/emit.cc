#include "kiln/targets/vta/emit.h"

#include <utility>

#include "fmt/format.h"
#include "kiln/hardware/axi_port.h"
#include "kiln/hardware/axi_signals.h"
#include "kiln/hardware/rtl_project.h"

namespace kiln::vta {
namespace {

constexpr int kAddressBits = 32;  // ADDRESS_BITS of rtl/vta/kiln_vta_pkg.sv

std::string DesignHeader(const Config& c) {
  return fmt::format(
      "// Of the design point '{}', for the testbench.\n"
      "#ifndef KILN_DESIGN_H_\n#define KILN_DESIGN_H_\n\n"
      "namespace kiln_design {{\n\n"
      "constexpr unsigned kPortBytes = {};\n"
      "// Of an ideal memory behind the port, from an address to its first beat.\n"
      "constexpr unsigned kMemoryLatency = {};\n\n"
      "}}  // namespace kiln_design\n\n#endif  // KILN_DESIGN_H_\n",
      c.name, c.memory_port_bytes, c.memory_latency - kAxiPortLatency);
}

hardware::RtlProject ProjectOf(const Config& config) {
  hardware::RtlProject project;
  project.top = "kiln_accelerator";
  project.top_text = TopModule(config);
  project.testbench = {"kiln_vta_testbench.cc", "kiln_vta_bench.h", "kiln_axi_lite.h",
                       "kiln_axi_memory.h", "kiln_simulate_options.h"};
  project.others = {{"design.yaml", PrintConfig(config)}, {"design.h", DesignHeader(config)}};
  return project;
}

}  // namespace

std::string TopModule(const Config& c) {
  std::string out = fmt::format(
      "// The accelerator '{}': the machine of rtl/vta with this design point's parameters. "
      "Emitted by Kiln.\n"
      "module kiln_accelerator (\n    input  logic clock,\n    input  logic reset",
      c.name);
  out += hardware::PortsOf("control", hardware::AxiLiteSignals());
  out += hardware::PortsOf("memory", hardware::AxiReadSignals(c.memory_port_bytes, kAddressBits));
  out += hardware::PortsOf("memory", hardware::AxiWriteSignals(c.memory_port_bytes, kAddressBits));
  out +=
      ",\n    output logic irq,\n    // For testbenches: a launch is under way; stages that start "
      "an "
      "instruction.\n    output logic running,\n    output logic [2:0] starts\n);\n"
      "  kiln_vta #(\n";
  const std::pair<const char*, int64_t> parameters[] = {
      {"INPUT_BITS", c.input_bits},
      {"WEIGHT_BITS", c.weight_bits},
      {"ACCUMULATOR_BITS", c.accumulator_bits},
      {"BATCH", c.batch},
      {"BLOCK_IN", c.block_in},
      {"BLOCK_OUT", c.block_out},
      {"UOP_BUFFER_BYTES", c.uop_buffer_bytes},
      {"INPUT_BUFFER_BYTES", c.input_buffer_bytes},
      {"WEIGHT_BUFFER_BYTES", c.weight_buffer_bytes},
      {"ACCUMULATOR_BUFFER_BYTES", c.accumulator_buffer_bytes},
      {"MEMORY_PORT_BYTES", c.memory_port_bytes},
      {"MEMORY_LATENCY", c.memory_latency},
      {"INSTRUCTION_QUEUE_DEPTH", c.instruction_queue_depth},
      {"ACCUMULATOR_BANKS", c.accumulator_banks}};
  std::string list;
  for (const auto& [name, value] : parameters) {
    list += fmt::format("{}      .{}({})", list.empty() ? "" : ",\n", name, value);
  }
  return out + list + "\n  ) machine (.*);\nendmodule\n";
}

Status EmitMachine(const Config& config, const std::filesystem::path& folder) {
  const Encoding::Bytes finish = Encoding(config).Encode(Instruction{});
  return EmitVta({.name = config.name,
                  .config = config,
                  .base = DeviceMemory::kPageBytes,
                  .before = {finish.begin(), finish.end()},
                  .after = {},
                  .fault = std::nullopt,
                  .launches = {{.address = DeviceMemory::kPageBytes, .instructions = 1}},
                  .profile = std::nullopt},
                 folder);
}

Status EmitVta(const ProgramVector& vector, const std::filesystem::path& folder) {
  hardware::RtlProject project = ProjectOf(vector.config);
  project.simulation_arguments =
      fmt::format("--memory memory.bin --base {} --result after.bin", vector.base);
  for (const ProgramVector::Launch& launch : vector.launches) {
    project.simulation_arguments +=
        fmt::format(" --launch {}:{}", launch.address, launch.instructions);
  }
  project.others.emplace_back("memory.bin",
                              std::string(vector.before.begin(), vector.before.end()));
  return hardware::WriteRtlProject(project, folder);
}

}  // namespace kiln::vta
