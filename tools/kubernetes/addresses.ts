/**
 * The addresses of the cluster. The machine has one end of a virtual cable, `hostInterface`; the other end is in a switch, which is a network namespace
 * of its own, as is each node. So the cluster sees the machine at one address and nothing else, no rule of the machine's firewall is changed, and all
 * of it is gone once its processes have ended.
 */
export const hostInterface = 'tidemark-k8s'
export const hostAddress = '10.87.0.1'
export const networkBits = 24
export const podRange = '10.88.0.0/16'
export const serviceRange = '10.96.0.0/16'
export const apiServerUrl = `https://${hostAddress}:6443`

export type NodePlan = {
  readonly name: string
  readonly address: string
  /** The range of its pods' addresses. */
  readonly pods: string
}

/** `number` counts from 1. */
export const nodePlan = (number: number): NodePlan => ({
  name: `node-${number}`,
  address: `10.87.0.${10 + number}`,
  pods: `10.88.${number}.0/24`,
})
