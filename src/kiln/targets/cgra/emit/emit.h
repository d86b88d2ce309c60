// Writes the hardware of a design point, with a program and an example for it.
#ifndef KILN_TARGETS_CGRA_EMIT_EMIT_H_
#define KILN_TARGETS_CGRA_EMIT_EMIT_H_

#include <cstdint>
#include <filesystem>
#include <vector>

#include "kiln/hardware/rtl_project.h"
#include "kiln/support/status.h"
#include "kiln/targets/cgra/isa/program.h"

namespace kiln::cgra {

// A run of a program: its input by thread, then by input (AppendRun).
struct ExampleRun {
  int64_t threads = 0;
  std::vector<int32_t> data;
};

// Returns a run of a few threads with input that `seed` determines.
ExampleRun MakeExample(const CgraProgram& program, uint64_t seed = 1);

// Returns the project of a design point without a program: the machine, its testbench, design.yaml.
// Errors: the errors of CheckStreamMachine.
StatusOr<hardware::RtlProject> ProjectOf(const Config& config);

// Returns the project of a program's design point. It also has the program as text (program.txt)
// and as JSON (configuration.json), the beats that load it (configuration.bin), and an example for
// `make sim`: the beats that load and run it (example.bin). Errors: the errors of Check.
StatusOr<hardware::RtlProject> ProjectOf(const CgraProgram& program, const ExampleRun& example);

// Writes the project of a program with the example of MakeExample. Errors: the errors of ProjectOf
// and of hardware::WriteRtlProject.
Status Emit(const CgraProgram& program, const std::filesystem::path& folder);

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_EMIT_EMIT_H_
