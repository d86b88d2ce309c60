// Passes tokens between stages and propagates what each stage knows to be done.

#include "kiln/targets/vta/isa/tokens.h"

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
  const auto give = [&](Stage to) {
    Link& link = links_[LinkBetween(stage, to)];
    link.push_back(known);
    most_in_flight_ = std::max(most_in_flight_, link.size());
  };
  if (in.push_previous) give(Previous(stage));
  if (in.push_next) give(Next(stage));
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
