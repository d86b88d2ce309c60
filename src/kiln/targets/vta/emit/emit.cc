// Writes the project of a design point's hardware: top module, testbench, design header, programs
// and their memory image.

#include "kiln/targets/vta/emit/emit.h"

#include <utility>

#include "fmt/format.h"
#include "kiln/hardware/axi_signals.h"
#include "kiln/hardware/rtl_project.h"
#include "kiln/hardware/top_module.h"
#include "kiln/targets/vta/config/derived.h"
#include "kiln/targets/vta/config/keys.h"
#include "kiln/targets/vta/emit/driver.h"
#include "kiln/targets/vta/isa/counters.h"
#include "kiln/targets/vta/isa/isa.h"
#include "kiln/targets/vta/isa/memory.h"

namespace kiln::vta {
namespace {

std::string DesignHeader(const Config& c) {
  std::string names;
  for (const CounterInfo& counter : CounterTable())
    names += fmt::format("    \"{}.{}\",\n", counter.unit, counter.name);
  return fmt::format(
      "// Of the design point '{}', for the testbench.\n"
      "#ifndef KILN_DESIGN_H_\n#define KILN_DESIGN_H_\n\n"
      "namespace kiln_design {{\n\n"
      "constexpr unsigned kPortBytes = {};\n"
      "// Of an ideal memory behind the port, from an address to its first beat.\n"
      "constexpr unsigned kMemoryLatency = {};\n"
      "// The counters, in the order of the registers.\n"
      "constexpr const char* kCounterNames[] = {{\n{}}};\n\n"
      "}}  // namespace kiln_design\n\n#endif  // KILN_DESIGN_H_\n",
      c.name, c.memory_port_bytes, AnswerCycles(c), names);
}

}  // namespace

hardware::TopModule TopOf(const Config& c) {
  hardware::TopModule top;
  top.comment = fmt::format(
      "The accelerator '{}': the machine of rtl/vta with this design point's parameters. "
      "Emitted by Kiln.",
      c.name);
  top.buses = {{"control", hardware::AxiLiteSignals()},
               {"memory", hardware::AxiSignals(c.memory_port_bytes, kAddressBits)}};
  top.ports = {{true, 1, "irq"}};
  top.observed_comment =
      "For testbenches: a launch is under way; stages that start an instruction.";
  top.observed = {{true, 1, "running"}, {true, 3, "starts"}};
  hardware::Instance machine = {"kiln_vta", "machine", Keys().RtlParameters(c), {}};
  AddMemoryBase(top.buses.back(), kAddressBits, &machine, &top);
  top.instances = {std::move(machine)};
  return top;
}

hardware::RtlProject MachineProject(const Config& config) {
  hardware::RtlProject project;
  SetTop(TopOf(config), &project);
  project.testbench = {
      "kiln_vta_testbench.cc",  "kiln_vta_bench.h",        "kiln_axi_lite.h",
      "kiln_axi_memory.h",      "kiln_memory_timing.h",    "kiln_simulate_options.h",
      "kiln_simulate_sample.h", "kiln_simulate_session.h", "kiln_simulate_wave.h"};
  project.others = {{"design.yaml", PrintConfig(config)}, {"design.h", DesignHeader(config)}};
  return project;
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

hardware::RtlProject ProjectOf(const ProgramVector& vector) {
  hardware::RtlProject project = MachineProject(vector.config);
  project.simulation_arguments =
      fmt::format("--memory memory.bin --base {} --result after.bin", vector.base);
  for (const ProgramVector::Launch& launch : vector.launches) {
    project.simulation_arguments +=
        fmt::format(" --launch {}:{}", launch.address, launch.instructions);
  }
  project.others.emplace_back("memory.bin",
                              std::string(vector.before.begin(), vector.before.end()));
  return project;
}

Status EmitVta(const ProgramVector& vector, const std::filesystem::path& folder) {
  hardware::RtlProject project = ProjectOf(vector);
  AddDriverTo(vector, {}, &project);
  return hardware::WriteRtlProject(project, folder);
}

}  // namespace kiln::vta
