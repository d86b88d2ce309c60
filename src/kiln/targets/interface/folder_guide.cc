// Words for the README.md of an emitted folder: host kernels, code meanings, steps.
#include "kiln/targets/interface/folder_guide.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "kiln/support/markdown.h"

namespace kiln {
namespace {

// Returns the list of the kernels that the host computes, each with the kernels next to it; empty
// without any.
std::string HostKernels(const Program& program) {
  const std::vector<KernelInfo>& kernels = program.kernels();
  const auto name = [&](size_t k) { return hardware::SampleName(kernels[k].name); };
  std::string list;
  for (size_t k = 0; k < kernels.size(); ++k) {
    if (!kernels[k].on_host()) continue;
    std::string when =
        k == 0 ? std::string("the first kernel") : fmt::format("after `{}`", name(k - 1));
    when += k + 1 == kernels.size() ? std::string(", as the last kernel")
                                    : fmt::format(", before `{}`", name(k + 1));
    list += MarkdownItem(fmt::format("`{}` ({}): {}.", name(k), kernels[k].operation, when));
  }
  if (list.empty()) return list;
  return "The machine does not compute these kernels of the network; software on the host does. "
         "`kernels.txt` has all kernels in their order, and why these are on the host.\n\n" +
         list;
}

}  // namespace

std::string CodeMeaning(float scale, int64_t zero_point) {
  if (zero_point == 0) return fmt::format("value = {} * code", scale);
  return fmt::format("value = {} * (code {} {})", scale, zero_point < 0 ? '+' : '-',
                     zero_point < 0 ? -zero_point : zero_point);
}

std::string LaunchesInFolder(int64_t held, int64_t launches) {
  if (held == 0) return "";
  return fmt::format(
      "The folder holds the machine and a sample, to simulate and to integrate it: the beats of "
      "{} of the network's {} launches. \"Launches\" says what the host gathers for each of "
      "these, and what it does with the results.\n\n",
      held == launches ? "all" : fmt::format("the first {}", held), launches);
}

hardware::DesignGuide GuideOf(std::string family, std::string design_point,
                              const FolderContent& content, const Program& program) {
  hardware::DesignGuide guide;
  guide.family = std::move(family);
  guide.design_point = std::move(design_point);
  guide.network = content.network;
  guide.host = HostKernels(program);
  guide.figures = content.figures;
  guide.clock_mhz = content.clock_mhz;
  guide.kernels = content.kernels;
  return guide;
}

}  // namespace kiln
