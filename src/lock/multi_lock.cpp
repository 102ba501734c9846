#include "lock/multi_lock.hpp"

#include <algorithm>
#include <utility>

#include "lock/part.hpp"

namespace rlock::lock {

using base::BootClock;
using base::ErrorCode;
using base::Instant;
using base::Result;
using base::Wait;

MultiLock::MultiLock(LeaseTerms terms, Open open) : terms_(terms), open_(std::move(open)) {}
MultiLock::~MultiLock() = default;

void MultiLock::add(Request request, std::unique_ptr<Backend> backend) {
  parts_.push_back(std::make_unique<Part>(std::move(request), std::move(backend), Part::Origin::own));
}

void MultiLock::add_held(Request request, std::unique_ptr<Backend> backend, const Lease& lease) {
  parts_.push_back(std::make_unique<Part>(std::move(request), std::move(backend), Part::Origin::held_around));
  parts_.back()->hold(lease, terms_);
}

void MultiLock::release_with(const std::function<ReleaseOptions(const Who&)>& options) {
  for (auto& part : parts_) {
    if (part->origin == Part::Origin::own) part->release_options = options(part->request.who);
  }
}

std::unique_ptr<MultiLock> MultiLock::copy(const Open& open) const {
  auto result = std::make_unique<MultiLock>(terms_, open);
  for (const auto& part : parts_) {
    if (part->origin != Part::Origin::own) continue;
    result->add(part->request, open(part->request.name));
    result->parts_.back()->release_options = part->release_options;
    result->parts_.back()->deadline = part->deadline;
    result->parts_.back()->is_left = part->is_left;
  }
  return result;
}

// ---------------------------------------------------------------- what is held

bool MultiLock::has_own() const {
  return std::ranges::any_of(parts_, [](const auto& part) { return part->origin == Part::Origin::own; });
}

std::uint64_t MultiLock::fence(const std::string& key) const {
  const auto found = std::ranges::find_if(parts_, [&](const auto& part) { return part->request.name.key == key; });
  return found == parts_.end() ? 0 : (*found)->fence;
}

const Request& MultiLock::request() const { return parts_.front()->request; }

Lease MultiLock::lease() const {
  const auto earliest = std::ranges::min_element(parts_, {}, [](const auto& part) { return part->counts_from; });
  return {request().token, parts_.front()->fence, (*earliest)->counts_from};
}

const std::string& MultiLock::concerned_key() const { return parts_[concerned_]->request.name.key; }

void MultiLock::concerns(const Part& part) {
  const auto is_it = [&](const auto& each) { return each.get() == &part; };
  concerned_ = static_cast<std::size_t>(std::ranges::find_if(parts_, is_it) - parts_.begin());
}

const std::string& MultiLock::name() const { return parts_.front()->backend->name(); }

// ---------------------------------------------------------------- side by side

std::vector<base::Fiber*> MultiLock::calls() const {
  std::vector<base::Fiber*> calls;
  for (const auto& part : parts_) calls.push_back(&part->call);
  return calls;
}

bool MultiLock::is_any_running() const {
  return std::ranges::any_of(parts_, [](const auto& part) { return part->call.is_running(); });
}

// A call of an earlier step that has not ended is of no use: it would hold up the next one.
void MultiLock::begin() {
  base::take_over(thread_, calls());
  for (auto& part : parts_) part->call.cancel();
}

// Until all have answered, or one of them is known to be lost.
Result<void> MultiLock::await_calls(Wait wait) {
  while (is_any_running() && lost() == nullptr) {
    if (base::drive(calls(), {}, wait) == base::Readiness::interrupted) return base::interrupted();
  }
  return {};
}

// The worst of all.
const MultiLock::Part* MultiLock::lost() const {
  const Part* worst = nullptr;
  for (const auto& part : parts_) {
    if (part->lost && (worst == nullptr || part->lost->holder == Ownership::Holder::other)) worst = part.get();
  }
  return worst;
}

Result<Ownership> MultiLock::ownership() {
  if (const auto* part = lost()) {
    concerns(*part);
    return *part->lost;
  }
  const Part* failed = nullptr;
  for (const auto& part : parts_) {
    if (part->error && (failed == nullptr || part->error->code == ErrorCode::gone)) failed = part.get();
  }
  if (failed != nullptr) {
    concerns(*failed);
    return base::fail(failed->error->code, failed->request.name.key + ": " + failed->error->message);
  }
  const auto whole = lease();
  return Ownership{.holder = Ownership::Holder::us, .fence = whole.fence, .counts_from = whole.counts_from};
}

// What an earlier try of the same renewal has renewed is not asked for again.
Result<Ownership> MultiLock::renew(Watch watch, Wait wait) {
  if (parts_.size() == 1) return parts_.front()->backend->renew(request(), watch, wait);
  begin();
  if (renewing_since_ == Instant{}) renewing_since_ = BootClock::now();
  for (auto& part : parts_) {
    if (std::exchange(part->lost, std::nullopt) || part->counts_from < renewing_since_) {
      part->renew(watch, terms_, wait.until());
    }
  }
  RLOCK_TRY(await_calls(wait));
  auto result = ownership();
  if (result) renewing_since_ = {};
  return result;
}

Result<Ownership> MultiLock::check(Wait wait) {
  if (parts_.size() == 1) return parts_.front()->backend->check(request(), wait);
  begin();
  for (auto& part : parts_) part->check(wait.until());
  while (is_any_running()) {
    if (base::drive(calls(), {}, wait) == base::Readiness::interrupted) return base::interrupted();
  }
  return ownership();
}

Result<Released> MultiLock::release(Wait wait) {
  if (parts_.size() == 1) {
    auto& part = *parts_.front();
    auto released = part.backend->release(request(), part.release_options, wait);
    if (released) part.released = *released;
    return released;
  }
  begin();
  for (auto& part : parts_) {
    const bool is_done = part->released && part->released->is_everywhere;
    if (part->is_to_release() && !is_done) part->release(wait.until());
  }
  while (is_any_running()) {
    if (base::drive(calls(), {}, wait) == base::Readiness::interrupted) return base::interrupted();
  }
  Released all{ReleaseOutcome::released};
  const Part* failed = nullptr;
  for (const auto& part : parts_) {
    if (!part->is_to_release()) continue;
    if (part->error && !part->released) failed = part.get();
    if (!part->released) continue;
    all.is_everywhere &= part->released->is_everywhere;
    const auto outcome = part->released->outcome;
    if (outcome == ReleaseOutcome::released) continue;
    if (all.outcome != ReleaseOutcome::released && outcome == ReleaseOutcome::unknown) continue;
    all.outcome = outcome;
    concerns(*part);
  }
  if (failed == nullptr) return all;
  // One that was lost says more than one that is not released yet.
  all.is_everywhere = false;
  if (all.outcome != ReleaseOutcome::released && all.outcome != ReleaseOutcome::unknown) return all;
  concerns(*failed);
  return std::unexpected(*failed->error);
}

Result<Inspection> MultiLock::inspect_concerned(Wait wait) {
  begin();
  auto& part = *parts_[concerned_];
  auto snapshots = RLOCK_TRY(part.backend->inspect({&part.request.name.wire_key, 1}, 0, wait));
  return std::move(snapshots.front());
}

// ---------------------------------------------------------------- news

std::vector<pollfd> MultiLock::wait_fds() const {
  std::vector<pollfd> fds;
  for (const auto& part : parts_) {
    if (part->call.is_running()) {
      fds.insert(fds.end(), part->call.fds().begin(), part->call.fds().end());
    } else {
      const auto theirs = part->backend->wait_fds();
      fds.insert(fds.end(), theirs.begin(), theirs.end());
    }
  }
  return fds;
}

Result<Event> MultiLock::drain() {
  if (parts_.size() == 1) return parts_.front()->backend->drain();
  begin();
  Event all;
  for (auto& part : parts_) {
    const auto event = RLOCK_TRY(part->backend->drain());
    all.touched |= event.touched;
  }
  return all;
}

}  // namespace rlock::lock
