// A program as its family's own type.
#ifndef KILN_TARGETS_RUN_OWN_PROGRAM_H_
#define KILN_TARGETS_RUN_OWN_PROGRAM_H_

#include "kiln/support/status.h"
#include "kiln/targets/interface/accelerator.h"
#include "kiln/targets/interface/program.h"

namespace kiln {

// Returns a program as the type of the accelerator's family. Error: another family has compiled it.
template <typename OwnProgram>
StatusOr<const OwnProgram*> OwnProgramOf(const Accelerator& accelerator, const Program& program) {
  if (const auto* own = dynamic_cast<const OwnProgram*>(&program)) return own;
  return ErrorAt("", accelerator.name(), "the program was compiled for another family",
                 "compile it for this one");
}

}  // namespace kiln

#endif  // KILN_TARGETS_RUN_OWN_PROGRAM_H_
