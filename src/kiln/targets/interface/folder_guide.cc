// Words for the README.md of an emitted folder: host kernels, code meanings, steps.
#include "kiln/targets/interface/folder_guide.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "kiln/support/markdown.h"

namespace kiln {
namespace {

// Returns "`x` (1 x 10, from `fc`)": a value at the border of a kernel and the first kernel that
// has it among its `others`, its results or what it reads.
std::string BorderText(const Program& program, const KernelValue& value,
                       std::vector<KernelValue> KernelInfo::* others, std::string_view word) {
  std::string text = value.shape;
  for (const KernelInfo& kernel : program.kernels()) {
    if (std::ranges::find(kernel.*others, value.name, &KernelValue::name) == (kernel.*others).end())
      continue;
    text +=
        fmt::format("{}{} `{}`", text.empty() ? "" : ", ", word, hardware::SampleName(kernel.name));
    break;
  }
  return fmt::format("`{}`{}", hardware::SampleName(value.name),
                     text.empty() ? "" : " (" + text + ")");
}

// Returns the list of the kernels that the host computes, each with the kernels next to it, what it
// reads and what it computes; empty without any. `network` is the network's file.
std::string HostKernels(const Program& program, const std::string& network) {
  const std::vector<KernelInfo>& kernels = program.kernels();
  const auto name = [&](size_t k) { return hardware::SampleName(kernels[k].name); };
  std::string list;
  for (size_t k = 0; k < kernels.size(); ++k) {
    if (!kernels[k].on_host()) continue;
    std::string when =
        k == 0 ? std::string("the first kernel") : fmt::format("after `{}`", name(k - 1));
    when += k + 1 == kernels.size() ? std::string(", as the last kernel")
                                    : fmt::format(", before `{}`", name(k + 1));
    std::vector<std::string> reads, results;
    for (const KernelValue& value : kernels[k].reads)
      reads.push_back(BorderText(program, value, &KernelInfo::results, "from"));
    for (const KernelValue& value : kernels[k].results)
      results.push_back(BorderText(program, value, &KernelInfo::reads, "for"));
    list += MarkdownItem(fmt::format("`{}` ({}): {}. It reads {} and computes {}.", name(k),
                                     kernels[k].operation, when, fmt::join(reads, ", "),
                                     fmt::join(results, ", ")));
  }
  if (list.empty()) return list;
  return fmt::format(
             "The machine does not compute these kernels of the network; software on the host "
             "does. `kernels.txt` has all kernels in their order, and why these are on the host. A "
             "kernel has the names of its nodes in `{}`, whose attributes and constants are the "
             "kernel's parameters. Values `v0`, `v1` and so on are none of that file. A value "
             "without the name of a kernel is an input or output of the network, or a reshape or "
             "transpose that only moves elements is between it and the kernel. Shapes are the "
             "compiler's, with the channels of images last; axes in the file count in the file's "
             "own layout.\n\n",
             hardware::SampleName(network)) +
         list;
}

}  // namespace

std::string CodeMeaning(float scale, int64_t zero_point) {
  if (zero_point == 0) return fmt::format("value = {} * code", scale);
  return fmt::format("value = {} * (code {} {})", scale, zero_point < 0 ? '+' : '-',
                     zero_point < 0 ? -zero_point : zero_point);
}

std::string BoundsMeaning(double low, double high) {
  std::string text;
  if (!std::isinf(low)) text += fmt::format(", at least {}", low);
  if (!std::isinf(high)) text += fmt::format(", at most {}", high);
  return text;
}

std::string LaunchesInFolder(int64_t held, int64_t launches, bool describes_all) {
  if (held == 0) return "";
  return fmt::format(
      "The folder holds the machine and a sample, to simulate and to integrate it: the beats of "
      "{} of the network's {} launches. \"Launches\" says what the host gathers for each {}, "
      "and what it does with the results.\n\n",
      held == launches ? "all" : fmt::format("the first {}", held), launches,
      describes_all ? "launch" : "of these");
}

hardware::DesignGuide GuideOf(std::string family, std::string design_point,
                              const FolderContent& content, const Program& program) {
  hardware::DesignGuide guide;
  guide.family = std::move(family);
  guide.design_point = std::move(design_point);
  guide.network = content.network;
  guide.host = HostKernels(program, content.network);
  guide.figures = content.figures;
  guide.clock_mhz = content.clock_mhz;
  guide.kernels = content.kernels;
  if (content.preprocess != nullptr) guide.preprocess = *content.preprocess;
  return guide;
}

}  // namespace kiln
