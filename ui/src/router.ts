import { createRouter, createWebHistory, type RouteRecordRaw } from "vue-router";

import ApprovalPage from "./pages/approvals/ApprovalPage.vue";
import ApprovalsPage from "./pages/approvals/ApprovalsPage.vue";
import EvidencePage from "./pages/evidence/EvidencePage.vue";
import HealthPage from "./pages/HealthPage.vue";
import NotFoundPage from "./pages/NotFoundPage.vue";
import SignInPage from "./pages/SignInPage.vue";
import type { Counts } from "./api/console";
import { readTokens } from "./registry/registry";
import { account, loadSession } from "./session";

declare module "vue-router" {
  interface RouteMeta {
    /** Translation key of the page name, for the document title and the navigation; route parameters fill it. */
    titleKey: string;
    /** True if the id in the path is the number of a unit, which people read in its short form. */
    isUnit?: boolean;
    /** Group of the navigation; pages without one come first. */
    group?: "process" | "operations";
    /** What the navigation counts beside the page. */
    count?: keyof Counts;
    /** Icon in the navigation; a page without one is not listed there. */
    icon?: string;
    /** Path of its parent page in the navigation. */
    section?: string;
    /** True if the page fills the window and scrolls inside. */
    whole?: boolean;
    /** True if the page needs the width of the navigation. */
    rail?: boolean;
    /** True if the page needs nobody to be signed in. */
    isOpen?: boolean;
    /** True if the page has no header and no navigation. */
    isBare?: boolean;
  }
}

export const routes: RouteRecordRaw[] = [
  {
    path: "/governance/problems",
    name: "problems",
    component: () => import("./pages/governance/GovernanceProblemView.vue"),
    meta: { titleKey: "problems.title", icon: "problems", count: "problems", whole: true },
  },
  {
    path: "/governance/timeline",
    name: "timeline",
    component: () => import("./pages/governance/TimelinePage.vue"),
    meta: { titleKey: "governance.timeline", section: "/governance/problems", whole: true },
  },
  {
    path: "/inbox",
    name: "inbox",
    component: () => import("./pages/work/InboxPage.vue"),
    meta: { titleKey: "inbox.title", icon: "inbox", count: "inbox", whole: true },
  },
  {
    path: "/runs",
    name: "runs",
    component: () => import("./pages/runs/RunsPage.vue"),
    meta: { titleKey: "runs.title", icon: "runs", whole: true },
  },
  {
    path: "/runs/:id(\\d{1,15})",
    name: "run",
    component: () => import("./pages/run/RunPage.vue"),
    meta: { titleKey: "run.number", section: "/runs", whole: true, rail: true },
  },
  {
    path: "/workflows",
    name: "workflows",
    component: () => import("./pages/workflows/WorkflowsPage.vue"),
    meta: { titleKey: "workflows.title", icon: "flows", group: "process", whole: true },
  },
  {
    path: "/workflows/:id",
    name: "workflow",
    component: () => import("./pages/workflows/WorkflowPage.vue"),
    meta: { titleKey: "workflows.one", section: "/workflows", whole: true, rail: true },
  },
  {
    path: "/graphs",
    name: "graphs",
    component: () => import("./pages/graphs/GraphsPage.vue"),
    meta: { titleKey: "graphs.title", icon: "graphs", group: "process", whole: true },
  },
  {
    path: "/approvals",
    name: "approvals",
    component: ApprovalsPage,
    meta: { titleKey: "approvals.title", icon: "approve", group: "process", count: "approvals" },
  },
  {
    path: "/approvals/:id(\\d+)",
    name: "approval",
    component: ApprovalPage,
    meta: { titleKey: "approvals.one", section: "/approvals", isUnit: true },
  },
  {
    path: "/governance/dead-letters",
    name: "dead-letters",
    component: () => import("./pages/governance/DeadLettersPage.vue"),
    meta: { titleKey: "letters.title", icon: "dead", group: "operations", whole: true },
  },
  {
    path: "/governance/lag",
    name: "lag",
    component: () => import("./pages/governance/LagPage.vue"),
    meta: { titleKey: "lag.title", icon: "clock", group: "operations", whole: true },
  },
  {
    path: "/workers",
    name: "workers",
    component: () => import("./pages/governance/WorkersPage.vue"),
    meta: { titleKey: "workers.title", icon: "workers", group: "operations", whole: true },
  },
  {
    path: "/evidence",
    name: "evidence",
    component: EvidencePage,
    meta: { titleKey: "evidence.title", icon: "audit", group: "operations", isOpen: true },
  },
  {
    path: "/sign-in",
    name: "sign-in",
    component: SignInPage,
    meta: { titleKey: "signIn.title", isOpen: true, isBare: true },
  },
  { path: "/", name: "health", component: HealthPage, meta: { titleKey: "health.title", icon: "health", group: "operations" } },
  {
    path: "/settings",
    name: "settings",
    redirect: "/settings/people",
    meta: { titleKey: "settings.title", icon: "settings", group: "operations" },
  },
  {
    path: "/settings/people",
    name: "people",
    component: () => import("./pages/settings/PeoplePage.vue"),
    meta: { titleKey: "settings.tabs.people", section: "/settings", whole: true },
  },
  {
    path: "/settings/people/:name",
    name: "person",
    component: () => import("./pages/settings/PersonPage.vue"),
    meta: { titleKey: "settings.people.one", section: "/settings", whole: true },
  },
  {
    path: "/settings/tokens",
    name: "tokens",
    component: () => import("./pages/settings/TokensPage.vue"),
    meta: { titleKey: "settings.tabs.tokens", section: "/settings", whole: true },
  },
  {
    path: "/settings/sessions",
    name: "sessions",
    component: () => import("./pages/settings/SessionsPage.vue"),
    meta: { titleKey: "settings.tabs.sessions", section: "/settings", whole: true },
  },
  { path: "/:rest(.*)*", name: "not-found", component: NotFoundPage, meta: { titleKey: "notFound.title" } },
];

export const router = createRouter({
  history: createWebHistory(),
  routes,
  scrollBehavior: (_to, _from, saved) => saved ?? { top: 0 },
});

// The server refuses whoever is not signed in; this only shows the right page.
router.beforeEach(async (to) => {
  if (account.value === undefined && !to.meta.isBare) await loadSession();
  if (account.value === null && !to.meta.isOpen) return { name: "sign-in", query: { to: to.fullPath }, replace: true };
  // Without the tokens a page would show codes instead of words and colours for a moment.
  if (account.value) await readTokens();
  return true;
});
