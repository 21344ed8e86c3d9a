const mostOwed = 5
/** Sums of shares come out a little below whole numbers. */
const almostOne = 1 - 1e-9

/**
 * Says of one after another whether it is picked, so that the share `share` of all is, evenly; one that cannot be picked is made up
 * for by the next ones, five at most. `owed`, from 0 to 1, is where it begins.
 */
export function pickShare(share: number, owed: number): (isPossible: boolean) => boolean {
  let due = owed
  return (isPossible) => {
    due = Math.min(due + share, mostOwed)
    if (!isPossible || due < almostOne) return false
    due -= 1
    return true
  }
}
