#include "kiln/targets/vta/tokens.h"

#include <algorithm>

namespace kiln::vta {

size_t Tokens::LinkBetween(Stage from, Stage to) {
  return 2 * static_cast<size_t>(std::min(from, to)) + (from < to ? 0 : 1);
}

bool Tokens::Ready(const Instruction& in) const {
  const Stage stage = StageOf(in);
  return (!in.pop_previous || !links_[LinkBetween(Previous(stage), stage)].empty()) &&
         (!in.pop_next || !links_[LinkBetween(Next(stage), stage)].empty());
}

Progress Tokens::Pass(const Instruction& in) {
  const Stage stage = StageOf(in);
  Progress& known = known_[static_cast<size_t>(stage)];
  const auto take = [&](Stage from) {
    Link& link = links_[LinkBetween(from, stage)];
    for (size_t s = 0; s < known.size(); ++s) known[s] = std::max(known[s], link.front()[s]);
    link.pop_front();
  };
  if (in.pop_previous) take(Previous(stage));
  if (in.pop_next) take(Next(stage));
  const Progress before = known;
  ++known[static_cast<size_t>(stage)];
  if (in.push_previous) links_[LinkBetween(stage, Previous(stage))].push_back(known);
  if (in.push_next) links_[LinkBetween(stage, Next(stage))].push_back(known);
  return before;
}

void Tokens::BeginLaunch() {
  known_ = {};
  for (Link& link : links_) std::fill(link.begin(), link.end(), Progress{});
}

bool Tokens::none_left() const {
  return std::all_of(links_.begin(), links_.end(), [](const Link& link) { return link.empty(); });
}

}  // namespace kiln::vta
