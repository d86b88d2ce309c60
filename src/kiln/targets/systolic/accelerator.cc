#include "kiln/targets/interface/family.h"

namespace kiln::systolic {

StatusOr<std::unique_ptr<Accelerator>> ParseDesignPoint(std::string_view, std::string_view source) {
  return UnsupportedAt(source, "", "the systolic family is not there yet", "");
}

}  // namespace kiln::systolic
