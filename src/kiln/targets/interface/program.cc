// Sums over the kernels of a program.
#include "kiln/targets/interface/program.h"

#include <algorithm>
#include <utility>

#include "fmt/format.h"
#include "kiln/targets/interface/host_tail.h"

namespace kiln {

std::string KernelName(std::span<const Node* const> nodes) {
  std::string name;
  for (const Node* node : nodes) {
    if (!node->name().empty()) name += (name.empty() ? "" : "+") + node->name();
  }
  if (!name.empty() || nodes.empty()) return name;
  for (const Value* result : nodes[0]->results()) {
    if (result != nullptr) return fmt::format("{}_{}", nodes[0]->info().text, result->name());
  }
  return std::string(nodes[0]->info().text);
}

bool HostRunsAll(std::span<const KernelInfo> kernels) {
  return std::ranges::all_of(kernels, &KernelInfo::on_host);
}

void Program::SetTail(std::shared_ptr<const HostTail> tail) {
  tail_ = std::move(tail);
  kernels_.push_back(tail_->kernel);
}

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
