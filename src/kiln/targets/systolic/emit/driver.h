// The C driver in an emitted design (hardware/driver_folder.h), with the program as its example.
#ifndef KILN_TARGETS_SYSTOLIC_EMIT_DRIVER_H_
#define KILN_TARGETS_SYSTOLIC_EMIT_DRIVER_H_

#include "kiln/hardware/rtl_project.h"
#include "kiln/hardware/sample_run.h"
#include "kiln/targets/systolic/isa/program.h"

namespace kiln::systolic {

// Adds the driver to the project of a program. `sample` are the steps of its example, whose files
// are part of the project; the word of a run is a program's address. Without steps, the example
// runs all programs and compares nothing.
void AddDriverTo(const SystolicProgram& program, const hardware::SampleRun& sample,
                 hardware::RtlProject* project);

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_EMIT_DRIVER_H_
