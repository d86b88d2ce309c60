#include "kiln/targets/interface/program.h"

namespace kiln {

int64_t Program::MacsTotal() const {
  int64_t total = 0;
  for (const KernelInfo& kernel : kernels_) total += kernel.macs;
  return total;
}

double Program::HostShare() const {
  int64_t all = 0, host = 0;
  for (const KernelInfo& kernel : kernels_) {
    all += kernel.operations;
    if (kernel.on_host()) host += kernel.operations;
  }
  return all == 0 ? 0.0 : static_cast<double>(host) / static_cast<double>(all);
}

}  // namespace kiln
