import { createRouter, createWebHistory, type RouteRecordRaw } from "vue-router";

import ApprovalPage from "./pages/approvals/ApprovalPage.vue";
import ApprovalsPage from "./pages/approvals/ApprovalsPage.vue";
import EvidencePage from "./pages/evidence/EvidencePage.vue";
import HealthPage from "./pages/HealthPage.vue";
import NotFoundPage from "./pages/NotFoundPage.vue";

declare module "vue-router" {
  interface RouteMeta {
    /** Translation key of the page name, for the document title and the navigation; route parameters fill it. */
    titleKey: string;
    /** True if the navigation lists the page. */
    inNavigation?: boolean;
    /** Path of its parent page in the navigation. */
    section?: string;
  }
}

export const routes: RouteRecordRaw[] = [
  { path: "/", name: "health", component: HealthPage, meta: { titleKey: "health.title", inNavigation: true } },
  {
    path: "/approvals",
    name: "approvals",
    component: ApprovalsPage,
    meta: { titleKey: "approvals.title", inNavigation: true },
  },
  {
    path: "/approvals/:id(\\d+)",
    name: "approval",
    component: ApprovalPage,
    meta: { titleKey: "approvals.one", section: "/approvals" },
  },
  {
    path: "/evidence",
    name: "evidence",
    component: EvidencePage,
    meta: { titleKey: "evidence.title", inNavigation: true },
  },
  { path: "/:rest(.*)*", name: "not-found", component: NotFoundPage, meta: { titleKey: "notFound.title" } },
];

export const router = createRouter({
  history: createWebHistory(),
  routes,
  scrollBehavior: (_to, _from, saved) => saved ?? { top: 0 },
});
