// Tables with counted additions. Every addition goes through Counter::Add.
#include "kiln/targets/binary/tables/builders.h"

#include <algorithm>
#include <bit>

#include "kiln/support/check.h"
#include "kiln/support/integer.h"

namespace kiln::binary {
namespace {

// A value and the additions in series that led to it.
struct Timed {
  int32_t value = 0;
  int depth = 0;
};

struct Counter {
  int64_t additions = 0, shifts = 0;

  Timed Add(Timed a, Timed b, bool subtract) {
    ++additions;
    return {subtract ? a.value - b.value : a.value + b.value, std::max(a.depth, b.depth) + 1};
  }
};

using Entries = std::vector<Timed>;

Entries Chain(Counter& counter, std::span<const Timed> inputs) {
  Entries entries = {inputs[0]};
  for (const Timed& input : inputs.subspan(1)) {
    const size_t count = entries.size();
    for (size_t e = 0; e < count; ++e) entries.push_back(counter.Add(entries[e], input, true));
    for (size_t e = 0; e < count; ++e) entries[e] = counter.Add(entries[e], input, false);
  }
  return entries;
}

// The second half's table counts its first input positive; the select bit of that input says
// whether the whole half counts negative, which flips the other bits.
Entries Tree(Counter& counter, std::span<const Timed> inputs) {
  if (inputs.size() == 1) return {inputs[0]};
  const size_t low = (inputs.size() + 1) / 2, high = inputs.size() - low;
  const Entries first = Tree(counter, inputs.first(low));
  const Entries second = Tree(counter, inputs.subspan(low));
  Entries entries;
  for (size_t select = 0; select < first.size() << high; ++select) {
    const size_t upper = select >> (low - 1);
    const bool negative = (upper & 1) != 0;
    const size_t others = (negative ? ~upper : upper) >> 1 & (second.size() - 1);
    entries.push_back(counter.Add(first[select & (first.size() - 1)], second[others], negative));
  }
  return entries;
}

Entries Gray(Counter& counter, std::span<const Timed> inputs) {
  Entries entries(size_t{1} << (inputs.size() - 1));
  Timed sum = inputs[0];
  Entries doubled;
  for (const Timed& input : inputs.subspan(1)) {
    sum = counter.Add(sum, input, false);
    doubled.push_back({2 * input.value, input.depth});
    ++counter.shifts;
  }
  entries[0] = sum;
  for (size_t step = 1, select = 0; step < entries.size(); ++step) {
    const auto bit = static_cast<size_t>(std::countr_zero(step));
    select ^= size_t{1} << bit;
    sum = counter.Add(sum, doubled[bit], (select >> bit & 1) != 0);
    entries[select] = sum;
  }
  return entries;
}

}  // namespace

std::string_view NameOf(Builder builder) {
  constexpr std::string_view kNames[] = {"chain", "tree", "gray"};
  return kNames[static_cast<size_t>(builder)];
}

TableBuild BuildTable(Builder builder, std::span<const int32_t> inputs) {
  KILN_CHECK(!inputs.empty() && inputs.size() <= size_t{kMaxGroup});
  Entries timed;
  for (int32_t input : inputs) timed.push_back({input, 0});
  Counter counter;
  const Entries entries = builder == Builder::kChain  ? Chain(counter, timed)
                          : builder == Builder::kTree ? Tree(counter, timed)
                                                      : Gray(counter, timed);
  TableBuild build{{}, counter.additions, counter.shifts, 0};
  for (const Timed& entry : entries) {
    build.entries.push_back(entry.value);
    build.depth = std::max(build.depth, entry.depth);
  }
  return build;
}

int64_t BuildAdditions(Builder builder, int size) {
  KILN_CHECK(size >= 1 && size <= kMaxGroup);
  const int64_t entries = HalfEntries(size);
  switch (builder) {
    case Builder::kChain:
      return 2 * entries - 2;
    case Builder::kTree:
      return size == 1 ? 0
                       : entries + BuildAdditions(builder, (size + 1) / 2) +
                             BuildAdditions(builder, size / 2);
    case Builder::kGray:
      break;
  }
  return entries + size - 2;
}

int EntryBits(int size, int64_t lowest, int64_t highest) {
  const int64_t up = std::max(highest, -lowest), down = std::min(lowest, -highest);
  return SignedBits(lowest + (size - 1) * down, highest + (size - 1) * up);
}

int LookUpBits(int size, int64_t lowest, int64_t highest) {
  const int64_t most = size * std::max(highest, -lowest);
  return SignedBits(-most, most);
}

}  // namespace kiln::binary
