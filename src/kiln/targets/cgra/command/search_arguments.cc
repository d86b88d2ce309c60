// Declares and reads the options of searches.

#include "kiln/targets/cgra/command/search_arguments.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "kiln/command/checks.h"
#include "kiln/targets/cgra/command/mappers.h"
#include "kiln/targets/cgra/map/problem.h"

namespace kiln::cli {

void SearchArguments::Declare(CLI::App& app) {
  const auto keep = [this](const CLI::Option* option) { of_searches_.push_back(option); };
  keep(app.add_option("--ii", interval_,
                      "Cycles between two threads; default: the fewest that the mapper finds")
           ->check(InRange(1, cgra::kMostInterval).description(""))
           ->type_name("CYCLES"));
  keep(
      app.add_option("--seconds", options_.seconds,
                     "Time after which a search ends with the best so far; the result then depends "
                     "on the speed of this computer; default: no limit")
          ->check(RealInRange(1e-3, 1e6).description(""))
          ->type_name("S"));
  keep(app.add_option(
              "--steps", options_.steps,
              "Steps of the mapper after which it ends, the same on every computer; default: no "
              "limit")
           ->check(InRange(1, int64_t{1} << 50).description(""))
           ->type_name("N"));
  app.add_option("--seed", options_.seed, "Seed of random choices")
      ->check(InRange(0, std::numeric_limits<int64_t>::max()).description(""))
      ->type_name("N")
      ->capture_default_str();
  keep(app.add_flag(
      "--no-fuse", no_fuse_,
      "Every operator gets an instruction of its own; default: a multiplication and the "
      "addition that uses it may share one"));
  keep(app.add_option("--policy", policy_, "The trained policy of the mappers ppo and guided")
           ->type_name("FILE"));
}

void SearchArguments::DeclareWithMapper(CLI::App& app, std::string* mapper) {
  of_searches_.push_back(
      app.add_option("--mapper", *mapper, fmt::format("How to search: {}", cgra::MapperHelp()))
          ->check(CLI::IsMember(cgra::MapperNames()).description(""))
          ->type_name("MAPPER")
          ->capture_default_str());
  Declare(app);
}

Status SearchArguments::CheckNoneGiven(std::string_view why) const {
  for (const CLI::Option* option : of_searches_) {
    if (option->count() > 0)
      return ErrorAt("", option->get_name(), std::string(why), "leave one of the two out");
  }
  return OkStatus();
}

Status SearchArguments::Check(std::span<const std::string> mappers) const {
  if (policy_.empty() || std::ranges::any_of(mappers, cgra::UsesPolicy)) return OkStatus();
  return ErrorAt("", "--policy", fmt::format("{} uses none", fmt::join(mappers, ", ")),
                 "leave it out, or --mapper ppo or guided");
}

cgra::MapOptions SearchArguments::Options() const {
  cgra::MapOptions options = options_;
  options.initiation_interval = interval_;
  options.fuse = !no_fuse_;
  return options;
}

}  // namespace kiln::cli
