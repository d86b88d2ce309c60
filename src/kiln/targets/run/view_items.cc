// Follows tensors to those from which they are derived.

#include "kiln/targets/run/view_items.h"

#include <algorithm>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "kiln/hardware/sample_run.h"

namespace kiln {
namespace {

std::string NameAndShape(const Value& value) {
  return fmt::format("`{}` ({})", hardware::SampleName(value.name()),
                     fmt::join(value.shape().dims(), " x "));
}

}  // namespace

std::vector<std::string> ViewItems(std::span<const DerivedValue> views,
                                   std::vector<const Value*> read) {
  std::vector<std::string> items;
  std::vector<const Value*> done;
  while (!read.empty()) {
    const Value* const value = read.front();
    read.erase(read.begin());
    if (std::ranges::find(done, value) != done.end()) continue;
    done.push_back(value);
    const auto view = std::ranges::find(views, value, &DerivedValue::value);
    if (view == views.end()) continue;
    items.push_back(fmt::format("{}: its element e is element {} of {}.", NameAndShape(*value),
                                view->text, NameAndShape(*view->from)));
    read.push_back(view->from);
  }
  return items;
}

}  // namespace kiln
