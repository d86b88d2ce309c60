// The C driver in an emitted design (hardware/driver_folder.h), with the launches as its example.
#ifndef KILN_TARGETS_VTA_EMIT_DRIVER_H_
#define KILN_TARGETS_VTA_EMIT_DRIVER_H_

#include "kiln/hardware/rtl_project.h"
#include "kiln/hardware/sample_run.h"
#include "kiln/targets/vta/isa/program_vector.h"

namespace kiln::vta {

// Adds the driver to the project of a vector. `sample` are the steps of its example, whose files
// are part of the project; the words of a run are a launch's address and its number of
// instructions. Without steps, the example runs all launches and compares nothing.
void AddDriverTo(const ProgramVector& vector, const hardware::SampleRun& sample,
                 hardware::RtlProject* project);

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_EMIT_DRIVER_H_
