// The folder that `kiln compile --emit` and `kiln verify --emit` write, and the text that describes
// a compiled network.
#ifndef KILN_CLI_EMITTED_FOLDER_H_
#define KILN_CLI_EMITTED_FOLDER_H_

#include <filesystem>
#include <string>

#include "kiln/flow/flow.h"
#include "kiln/report/run_report.h"
#include "kiln/support/status.h"

namespace kiln::cli {

// Returns the table of kernels with estimated cycles, proved bounds and schedules, and a line of
// totals.
std::string KernelsOf(const Program& program);

// Returns the first figures: time, energy and area, as far as the family has models.
std::string FirstFigures(const RunReport& report);

// Returns clock, speed and the table of units, as far as the family has models.
std::string CostsOf(const RunReport& report);

// Writes the hardware with the program, the first image as the sample, README.md and kernels.txt.
// Errors: those of Accelerator::EmitRtl; a file that cannot be written.
//   options   those of CompileFlow; the README states the network's file and its preprocessing
Status EmitFolder(const CompiledNetwork& compiled, const FlowOptions& options,
                  const std::filesystem::path& folder);

}  // namespace kiln::cli

#endif  // KILN_CLI_EMITTED_FOLDER_H_
