// Tests of questions that begin with the candidates that earlier ones left.
#include "kiln/targets/dataflow/fold/exact_oracle.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kiln/support/random.h"
#include "tests/targets/dataflow/fold/random_problem.h"

namespace kiln::dataflow {
namespace {

// Returns the terms other than the period.
std::vector<Term> AdditiveTerms(const Objective& objective, const FoldProblem& problem) {
  std::vector<Term> terms;
  for (const Term& term : TermsOf(objective, problem.limits)) {
    if (term.kind != Term::Kind::kPeriod) terms.push_back(term);
  }
  return terms;
}

TEST(ExactOracle, AnswersLaterQuestionsLikeAFreshOracle) {
  int found = 0, none = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    const FoldProblem problem =
        RandomProblem(seed, {static_cast<Shape>(seed % 3), 4, 300, seed % 2 == 0});
    const FoldModel model(problem);
    const std::vector<Term> terms = AdditiveTerms(RandomObjective(random, problem), problem);
    constexpr int64_t kWork = 10000000;
    ExactOracle oracle(model, kWork);
    PeriodQuery query;
    const uint64_t periods = model.periods().size();
    query.period = model.periods().back();
    for (int question = 0; question < 12; ++question) {
      // Terms follow one another, mostly at the same period; sometimes a new sequence begins.
      if (random.Below(4) == 0) query.limits.clear();
      if (random.Below(3) == 0) {
        query.period = model.periods()[random.Below(periods)];
      }
      query.reach_period = model.has_fifo() && random.Below(2) == 0;
      query.minimise.reset();
      if (random.Below(4) > 0) query.minimise = terms[random.Below(terms.size())];
      query.lifted.reset();
      if (random.Below(6) == 0) query.lifted = static_cast<int>(random.Below(kResourceKinds));
      ExactOracle fresh(model, kWork);
      const PeriodAnswer expected = fresh.Answer(query), answer = oracle.Answer(query);
      ASSERT_TRUE(expected.complete && answer.complete);
      ASSERT_EQ(answer.fold.has_value(), expected.fold.has_value());
      EXPECT_EQ(answer.value, expected.value);
      if (!answer.fold) {
        ++none;
        continue;
      }
      ++found;
      if (query.minimise) query.limits.push_back({*query.minimise, answer.value});
    }
  }
  EXPECT_GT(found, 500);
  EXPECT_GT(none, 500);
}

}  // namespace
}  // namespace kiln::dataflow
