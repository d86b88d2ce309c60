// Records what the host writes to a machine and reads from it in a run at the functional level, as
// the sample of an emitted folder.
#ifndef KILN_TARGETS_SYSTOLIC_RECORD_SAMPLE_H_
#define KILN_TARGETS_SYSTOLIC_RECORD_SAMPLE_H_

#include "kiln/hardware/sample_run.h"
#include "kiln/support/status.h"
#include "kiln/targets/interface/accelerator.h"
#include "kiln/targets/systolic/isa/program.h"

namespace kiln::systolic {

// Returns the steps for the image of `batch`, or no steps if the batch has no inputs. A run's word
// is the address of its program. Errors: those of Accelerator::Run.
StatusOr<hardware::SampleRun> RecordSample(const SystolicProgram& program, const Batch& batch);

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_RECORD_SAMPLE_H_
