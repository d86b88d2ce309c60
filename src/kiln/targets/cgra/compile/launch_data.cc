// Gathers and scatters the elements of buffers.

#include "kiln/targets/cgra/compile/launch_data.h"

#include "kiln/support/check.h"

namespace kiln::cgra {

std::vector<int32_t> DataOf(const Launch& launch, int64_t run, int64_t lanes,
                            const BufferContents& contents) {
  std::vector<int32_t> data;
  data.reserve(static_cast<size_t>(launch.threads * lanes) * launch.feeds.size());
  for (int64_t thread = 0; thread < launch.threads; ++thread) {
    for (const Feed& feed : launch.feeds) {
      const std::vector<int32_t>& buffer = contents[static_cast<size_t>(feed.buffer)];
      const auto element = [&](int64_t lane) {
        const int64_t at = feed.at(run, thread, lane);
        return at < 0 ? feed.otherwise : buffer[static_cast<size_t>(at)];
      };
      if (feed.same_in_lanes) {
        data.insert(data.end(), static_cast<size_t>(lanes), element(0));
      } else {
        for (int64_t lane = 0; lane < lanes; ++lane) data.push_back(element(lane));
      }
    }
  }
  return data;
}

int64_t ResultsOf(const Launch& launch, int64_t lanes) {
  return (launch.threads - launch.first_sent) * std::ssize(launch.drains) * lanes;
}

void StoreResults(const Launch& launch, int64_t run, int64_t lanes,
                  std::span<const int32_t> results, BufferContents* contents) {
  KILN_CHECK(std::ssize(results) == ResultsOf(launch, lanes));
  size_t next = 0;
  for (int64_t thread = launch.first_sent; thread < launch.threads; ++thread) {
    for (const Drain& drain : launch.drains) {
      std::vector<int32_t>& buffer = (*contents)[static_cast<size_t>(drain.buffer)];
      for (int64_t lane = 0; lane < lanes; ++lane, ++next) {
        const int64_t at = drain.at(run, thread, lane);
        if (at >= 0) buffer[static_cast<size_t>(at)] = results[next];
      }
    }
  }
}

}  // namespace kiln::cgra
